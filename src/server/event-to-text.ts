import type { Attachment } from '../protocols/message.ts'
import type { RunEvent } from '../run/run-event.ts'
import { toDataUrl } from './data-url.ts'

/** Text of an event for an API whose answers are text; empty for what is no part of the answer. */
export function eventToText(event: RunEvent): string {
  if (event.type === 'text') return event.text
  return event.type === 'attachment' ? attachmentToText(event.attachment) : ''
}

/** An attachment with an address becomes a link, one of bytes is named. */
export function attachmentToText(attachment: Attachment): string {
  const { data, mediaType, name = mediaType } = attachment
  return data instanceof URL ? attachmentToMarkdown(attachment) : `\n[${name}]\n`
}

/** Link to an attachment; one of bytes is a data URL. */
export function attachmentToMarkdown({ data, mediaType, name = mediaType }: Attachment): string {
  const url = data instanceof URL ? data.href : toDataUrl({ mediaType, data })
  return `\n${mediaType.startsWith('image/') ? '!' : ''}[${name}](${url})\n`
}
