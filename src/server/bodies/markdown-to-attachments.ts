import { readDataUrl } from '../../data-url.ts'
import type { Attachment } from '../../protocols/message.ts'

const MARK = '](data:'
/** Beginning of a link: its name, and its address without the bytes. */
const LINK = /\[([^[]{0,255}?)\]\((data:[^,;()]{0,100};base64,)/g

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
  const links = new RegExp(LINK)
  // In linear time, whatever the text: an end is only looked for after what is sure to be a beginning.
  for (let link = links.exec(answer); link; link = links.exec(answer)) {
    const [beginning, name = '', head = ''] = link
    const end = answer.indexOf(')', links.lastIndex)
    const read = end === -1 ? undefined : readDataUrl(answer.slice(links.lastIndex - head.length, end))
    if (!read) break
    attachments.push(name === read.mediaType || name === '' ? read : { ...read, name })
    text += withoutEnd(answer.slice(from, links.lastIndex - beginning.length))
    from = links.lastIndex = answer[end + 1] === '\n' ? end + 2 : end + 1
  }
  return { text: text + answer.slice(from), attachments }
}

/** Leaves out the mark of an image, and the line break before a link. */
function withoutEnd(text: string): string {
  const isImage = text.endsWith('!')
  const before = isImage ? text.slice(0, -1) : text
  return before.endsWith('\n') ? before.slice(0, -1) : before
}
