import type { Attachment, Message } from '../../protocols/message.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../../run/attachment-json.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { NewBytes, readBytes, type StoredBytes } from './turn-bytes.ts'

/** Attachment whose bytes have rows of their own where they are many. */
type StoredAttachment = AttachmentJson & { readonly bytes?: StoredBytes }

/** Message of a turn, as it is stored. */
export type StoredMessage = Omit<Message, 'attachments'> & { readonly attachments?: readonly StoredAttachment[] }

/** Returns the reference to bytes that have rows of their own; undefined for bytes that stay in the message. */
type FindBytes = (data: Uint8Array) => StoredBytes | undefined

export function toStoredMessage(message: Message, find: FindBytes): StoredMessage {
  if (!('attachments' in message) || !message.attachments) return message
  return { ...message, attachments: message.attachments.map((attachment) => toStoredAttachment(attachment, find)) }
}

function toStoredAttachment(attachment: Attachment, find: FindBytes): StoredAttachment {
  const { data, ...named } = attachment
  const bytes = data instanceof URL ? undefined : find(data)
  return bytes ? { ...named, bytes } : toAttachmentJson(attachment)
}

/** Reads messages with their bytes. */
export async function readStoredMessages(store: RecordStore, messages: readonly StoredMessage[]): Promise<Message[]> {
  const data = new Map<string, Uint8Array>()
  for (const bytes of messages.flatMap(bytesOfMessage)) data.set(bytes.id, await readBytes(store, bytes))
  return messages.map((message) => fromStoredMessage(message, data))
}

/** @param data stored bytes, by id */
export function fromStoredMessage(stored: StoredMessage, data?: ReadonlyMap<string, Uint8Array>): Message {
  const { attachments } = stored
  if (!attachments) return stored as Message
  const read = ({ bytes, ...json }: StoredAttachment): Attachment => {
    if (!bytes) return fromAttachmentJson(json)
    return { ...json, data: bytes instanceof NewBytes ? bytes.data : (data?.get(bytes.id) as Uint8Array) }
  }
  return { ...stored, attachments: attachments.map(read) } as Message
}

export function bytesOfMessage({ attachments = [] }: StoredMessage): StoredBytes[] {
  return attachments.flatMap(({ bytes }) => bytes ?? [])
}
