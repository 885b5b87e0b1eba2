import type { Part } from '../run/run-providers.ts'

/** A part for an API whose answers are text: an attachment with an address becomes a link, one of bytes is named. */
export function partToText(part: Part): string {
  if (part.type === 'text') return part.text
  const { data, mediaType, name = mediaType } = part.attachment
  if (!(data instanceof URL)) return `\n[${name}]\n`
  return `\n${mediaType.startsWith('image/') ? '!' : ''}[${name}](${data.href})\n`
}
