import type { Attachment, Message } from '../../protocols/message.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { NewBytes, readBytes, type StoredBytes } from './turn-bytes.ts'

/** Attachment whose bytes have rows of their own where they are many. */
type StoredAttachment = AttachmentJson & { readonly bytes?: StoredBytes }

/** JSON with attachments. */
interface WithAttachments {
  readonly attachments?: readonly StoredAttachment[]
}

/** Message of a turn, as it is stored. */
export type StoredMessage = Omit<Message, 'attachments'> & WithAttachments

/** Answer with which a run goes on, as it is stored. */
export type StoredAnswer =
  | Exclude<PendingAnswer, { kind: 'client_tool' }>
  | {
      readonly callId: string
      readonly kind: 'client_tool'
      readonly result: Omit<ToolResult, 'attachments'> & WithAttachments
    }

/** Returns the reference to bytes that have rows of their own; undefined for bytes that stay in the message. */
type FindBytes = (data: Uint8Array) => StoredBytes | undefined

export function toStoredMessage(message: Message, find: FindBytes): StoredMessage {
  return 'attachments' in message ? toStored(message, find) : message
}

export function toStoredAnswer(answer: PendingAnswer, find: FindBytes): StoredAnswer {
  return answer.kind === 'client_tool' ? { ...answer, result: toStored(answer.result, find) } : answer
}

function toStored<T extends { readonly attachments?: readonly Attachment[] }>(
  value: T,
  find: FindBytes,
): Omit<T, 'attachments'> & WithAttachments {
  const { attachments, ...rest } = value
  return attachments ? { ...rest, attachments: attachments.map((each) => toStoredAttachment(each, find)) } : rest
}

function toStoredAttachment(attachment: Attachment, find: FindBytes): StoredAttachment {
  const { data, ...named } = attachment
  const bytes = data instanceof URL ? undefined : find(data)
  return bytes ? { ...named, bytes } : toAttachmentJson(attachment)
}

/** Reads messages with their bytes. */
export async function readStoredMessages(store: RecordStore, messages: readonly StoredMessage[]): Promise<Message[]> {
  const data = await readAll(store, messages.flatMap(bytesOfStored))
  return messages.map((message) => fromStoredMessage(message, data))
}

/** Reads answers with their bytes. */
export async function readStoredAnswers(
  store: RecordStore,
  answers: readonly StoredAnswer[],
): Promise<PendingAnswer[]> {
  const data = await readAll(store, answers.flatMap(bytesOfAnswer))
  return answers.map((answer) =>
    answer.kind === 'client_tool' ? { ...answer, result: fromStored<ToolResult>(answer.result, data) } : answer,
  )
}

/** @param data stored bytes, by id */
export function fromStoredMessage(stored: StoredMessage, data?: ReadonlyMap<string, Uint8Array>): Message {
  return stored.attachments ? fromStored<Message>(stored, data) : (stored as Message)
}

function fromStored<T>({ attachments, ...rest }: WithAttachments, data?: ReadonlyMap<string, Uint8Array>): T {
  const read = ({ bytes, ...json }: StoredAttachment): Attachment => {
    if (!bytes) return fromAttachmentJson(json)
    return { ...json, data: bytes instanceof NewBytes ? bytes.data : (data?.get(bytes.id) as Uint8Array) }
  }
  return (attachments ? { ...rest, attachments: attachments.map(read) } : rest) as T
}

export function bytesOfStored({ attachments = [] }: WithAttachments): StoredBytes[] {
  return attachments.flatMap(({ bytes }) => bytes ?? [])
}

export function bytesOfAnswer(answer: StoredAnswer): StoredBytes[] {
  return answer.kind === 'client_tool' ? bytesOfStored(answer.result) : []
}

async function readAll(store: RecordStore, all: readonly StoredBytes[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const data = new Map<string, Uint8Array>()
  for (const bytes of all) data.set(bytes.id, await readBytes(store, bytes))
  return data
}
