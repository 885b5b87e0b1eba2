import { decodeBase64, encodeBase64 } from '../base64.ts'
import type { Attachment, Message } from '../protocols/message.ts'

/** Attachment as JSON: its bytes as base64, or its address. */
export interface AttachmentJson {
  readonly mediaType: string
  readonly name?: string
  readonly base64?: string
  readonly url?: string
}

/** Message whose attachments are JSON. */
export type MessageJson = Omit<Message, 'attachments'> & { readonly attachments?: readonly AttachmentJson[] }

export function toAttachmentJson({ mediaType, name, data }: Attachment): AttachmentJson {
  const named = { mediaType, ...(name === undefined ? {} : { name }) }
  if (data instanceof URL) return { ...named, url: data.href }
  return { ...named, base64: encodeBase64(data) }
}

export function fromAttachmentJson({ base64, url, ...named }: AttachmentJson): Attachment {
  return { ...named, data: url === undefined ? decodeBase64(base64 ?? '') : new URL(url) }
}

export function toMessageJson(message: Message): MessageJson {
  const attachments = 'attachments' in message ? message.attachments : undefined
  return attachments ? { ...message, attachments: attachments.map(toAttachmentJson) } : (message as MessageJson)
}

export function fromMessageJson(json: MessageJson): Message {
  const { attachments } = json
  return (attachments ? { ...json, attachments: attachments.map(fromAttachmentJson) } : json) as Message
}
