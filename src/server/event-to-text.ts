import type { Attachment } from '../protocols/message.ts'
import type { RunEvent } from '../run/run-event.ts'

/** Text of an event for an API whose answers are text; empty for what is no part of the answer. */
export function eventToText(event: RunEvent): string {
  if (event.type === 'text') return event.text
  return event.type === 'attachment' ? attachmentToText(event.attachment) : ''
}

/** An attachment with an address becomes a link, one of bytes is named. */
export function attachmentToText({ data, mediaType, name = mediaType }: Attachment): string {
  if (!(data instanceof URL)) return `\n[${name}]\n`
  return `\n${mediaType.startsWith('image/') ? '!' : ''}[${name}](${data.href})\n`
}
