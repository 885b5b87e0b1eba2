import { toDataUrl } from '../../data-url.ts'
import type { Attachment } from '../../protocols/message.ts'

/** Link to an attachment, for an answer that is text; one of bytes is a data URL. */
export function attachmentToMarkdown({ data, mediaType, name = mediaType }: Attachment): string {
  const url = data instanceof URL ? data.href : toDataUrl({ mediaType, data })
  return `\n${mediaType.startsWith('image/') ? '!' : ''}[${name}](${url})\n`
}
