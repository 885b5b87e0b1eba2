import type { Attachment, Message } from '../protocols/message.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../run/attachment-json.ts'
import { isLarge, NewBytes, type StoredBytes } from './turn-bytes.ts'

/** Attachment whose bytes have rows of their own where they are many. */
type StoredAttachment = AttachmentJson & { readonly bytes?: StoredBytes }

/** Message of a turn, as it is stored. */
export type StoredMessage = Omit<Message, 'attachments'> & { readonly attachments?: readonly StoredAttachment[] }

export function toStoredMessage(turnId: string, message: Message): StoredMessage {
  if (!('attachments' in message) || !message.attachments) return message as StoredMessage
  return { ...message, attachments: message.attachments.map((attachment) => toStoredAttachment(turnId, attachment)) }
}

function toStoredAttachment(turnId: string, attachment: Attachment): StoredAttachment {
  const { data, ...named } = attachment
  if (data instanceof URL || !isLarge(data)) return toAttachmentJson(attachment)
  return { ...named, bytes: new NewBytes(turnId, data) }
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
