import { readDataUrl } from '../../data-url.ts'
import type { Attachment } from '../../protocols/message.ts'

const MARK = '](data:'
/** Everything of the address but its bytes. Looked for in as many characters. */
const HEAD = /^data:[^,;()]{0,100};base64,/
const MAX_HEAD = 128
const MAX_NAME = 256

const NONE: readonly Attachment[] = Object.freeze([])

interface Split {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/**
 * Splits an earlier answer into its text and the attachments that it shows as links with data URLs: the reverse of
 * {@link attachmentToMarkdown}. To a model these links would be millions of letters.
 */
export function markdownToAttachments(answer: string): Split {
  if (!answer.includes(MARK)) return { text: answer, attachments: NONE }
  const attachments: Attachment[] = []
  let text = ''
  let from = 0
  // In linear time, whatever the text: an end is only looked for after what is sure to be a beginning.
  for (let mark = answer.indexOf(MARK); mark !== -1; mark = answer.indexOf(MARK, Math.max(mark + 1, from))) {
    const start = Math.max(from, mark - MAX_NAME)
    const bracket = answer.slice(start, mark).lastIndexOf('[')
    if (bracket === -1 || !HEAD.test(answer.slice(mark + 2, mark + 2 + MAX_HEAD))) continue
    const end = answer.indexOf(')', mark)
    const read = end === -1 ? undefined : readDataUrl(answer.slice(mark + 2, end))
    if (!read) break
    const name = answer.slice(start + bracket + 1, mark)
    attachments.push(name === read.mediaType || name === '' ? read : { ...read, name })
    text += withoutEnd(answer.slice(from, start + bracket))
    from = answer[end + 1] === '\n' ? end + 2 : end + 1
  }
  return { text: text + answer.slice(from), attachments }
}

/** Leaves out the mark of an image, and the line break before a link. */
function withoutEnd(text: string): string {
  const isImage = text.endsWith('!')
  const before = isImage ? text.slice(0, -1) : text
  return before.endsWith('\n') ? before.slice(0, -1) : before
}
