import { encodeBase64 } from '../../../../base64.ts'
import { encodeUri } from '../../../../decode-uri.ts'
import type { Attachment } from '../../../../protocols/message.ts'
import { attachmentToMarkdown } from '../../../replies/attachment-to-markdown.ts'

/** A piece of a tool's answer (`ContentBlock` of the MCP schema). */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: { uri: string; mimeType: string; blob: string } }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType: string }

/** The first version of MCP in which a client expects content of that type. */
const AUDIO_SINCE = '2025-03-26'
const LINKS_SINCE = '2025-06-18'

/**
 * An answer as content: always its text first, then the attachments.
 *
 * @param version of the client's protocol: content that it lacks becomes text, or a resource
 */
export function toContent(text: string, attachments: readonly Attachment[], version: string): Content[] {
  return [{ type: 'text', text }, ...attachments.map((attachment, index) => toBlock(attachment, index, version))]
}

function toBlock(attachment: Attachment, index: number, version: string): Content {
  const { data, mediaType: mimeType, name = `attachment-${index + 1}` } = attachment
  if (data instanceof URL) {
    if (version >= LINKS_SINCE) return { type: 'resource_link', uri: data.href, name, mimeType }
    return { type: 'text', text: attachmentToMarkdown(attachment).trim() }
  }
  const blob = encodeBase64(data)
  if (mimeType.startsWith('image/')) return { type: 'image', data: blob, mimeType }
  if (mimeType.startsWith('audio/') && version >= AUDIO_SINCE) return { type: 'audio', data: blob, mimeType }
  return { type: 'resource', resource: { uri: `attachment:///${encodeUri(name)}`, mimeType, blob } }
}
