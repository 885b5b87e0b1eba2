import { decodeBase64, encodeBase64 } from '../base64.ts'
import type { Attachment, Message } from '../protocols/message.ts'
import { mapAttachments } from './map-attachments.ts'

/** Attachment as JSON: its bytes as base64, or its address. */
export interface AttachmentJson {
  readonly mediaType: string
  readonly name?: string
  readonly detail?: string
  readonly base64?: string
  readonly url?: string
}

/** Message whose attachments are JSON. */
export type MessageJson = Message extends infer M
  ? M extends { readonly attachments?: readonly Attachment[] }
    ? Omit<M, 'attachments'> & { readonly attachments?: readonly AttachmentJson[] }
    : M
  : never

export function toAttachmentJson({ data, ...named }: Attachment): AttachmentJson {
  if (data instanceof URL) return { ...named, url: data.href }
  return { ...named, base64: encodeBase64(data) }
}

export function fromAttachmentJson({ base64, url, ...named }: AttachmentJson): Attachment {
  return { ...named, data: url === undefined ? decodeBase64(base64 ?? '') : new URL(url) }
}

export function toMessageJson(message: Message): MessageJson {
  return mapAttachments(message, toAttachmentJson)
}

export function fromMessageJson(json: MessageJson): Message {
  return mapAttachments(json, fromAttachmentJson)
}
