import type { Attachment, Message } from '../../protocols/message.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import { mapAttachments, type WithAttachments } from '../../run/map-attachments.ts'
import { type AnswerWith, mapAnswer } from '../../run/waiting/answer-json.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { NewBytes, readBytes, type StoredBytes } from './turn-bytes.ts'

/** Attachment whose bytes have rows of their own where they are many. */
type StoredAttachment = AttachmentJson & { readonly bytes?: StoredBytes }

/** Message of a turn, as it is stored. */
export type StoredMessage = WithAttachments<Message, StoredAttachment>

/** Answer with which a run goes on, as it is stored. */
export type StoredAnswer = AnswerWith<StoredAttachment>

/** Returns the reference to bytes that have rows of their own; undefined for bytes that stay in the message. */
type FindBytes = (data: Uint8Array) => StoredBytes | undefined

export function toStoredMessage(message: Message, find: FindBytes): StoredMessage {
  return mapAttachments(message, (each: Attachment) => toStoredAttachment(each, find))
}

export function toStoredAnswer(answer: PendingAnswer, find: FindBytes): StoredAnswer {
  return mapAnswer(answer, (each: Attachment) => toStoredAttachment(each, find))
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
  return answers.map((answer) => mapAnswer(answer, (each: StoredAttachment) => fromStoredAttachment(each, data)))
}

/** @param data stored bytes, by id */
export function fromStoredMessage(stored: StoredMessage, data?: ReadonlyMap<string, Uint8Array>): Message {
  return mapAttachments(stored, (each: StoredAttachment) => fromStoredAttachment(each, data))
}

function fromStoredAttachment(
  { bytes, ...json }: StoredAttachment,
  data?: ReadonlyMap<string, Uint8Array>,
): Attachment {
  if (!bytes) return fromAttachmentJson(json)
  return { ...json, data: bytes instanceof NewBytes ? bytes.data : (data?.get(bytes.id) as Uint8Array) }
}

export function bytesOfStored(stored: StoredMessage | WithAttachments<ToolResult, StoredAttachment>): StoredBytes[] {
  return 'attachments' in stored ? (stored.attachments ?? []).flatMap(({ bytes }) => bytes ?? []) : []
}

export function bytesOfAnswer(answer: StoredAnswer): StoredBytes[] {
  return answer.kind === 'client_tool' ? bytesOfStored(answer.result) : []
}

async function readAll(store: RecordStore, all: readonly StoredBytes[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const data = new Map<string, Uint8Array>()
  for (const bytes of all) data.set(bytes.id, await readBytes(store, bytes))
  return data
}
