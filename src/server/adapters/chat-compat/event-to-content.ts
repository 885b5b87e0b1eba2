import type { RunEvent } from '../../../run/run-event.ts'
import { attachmentToMarkdown } from '../../replies/attachment-to-markdown.ts'

/** Content that an event adds to the answer: text, or an attachment as markdown; else empty. */
export function eventToContent(event: RunEvent): string {
  switch (event.type) {
    case 'text':
      return event.text
    case 'attachment':
      return attachmentToMarkdown(event.attachment)
    default:
      return ''
  }
}
