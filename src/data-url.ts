import { decodeBase64, encodeBase64 } from './base64.ts'

/** Bytes of a data URL (RFC 2397), with their media type. */
export interface DataUrl {
  readonly mediaType: string
  readonly data: Uint8Array
}

/** Data URL whose bytes were decoded while it arrived. As JSON it is the text that the client sent. */
export class DecodedUrl {
  /** Up to the comma, the comma included. */
  readonly head: string
  readonly data: Uint8Array

  constructor(head: string, data: Uint8Array) {
    this.head = head
    this.data = data
  }

  toJSON(): string {
    return this.head + encodeBase64(this.data)
  }
}

/** Reads a data URL without copying its text; undefined for other URLs, and for data that is not base64. */
export function readDataUrl(url: string | DecodedUrl): DataUrl | undefined {
  const text = typeof url === 'string' ? url : url.head
  const comma = text.startsWith('data:') ? text.indexOf(',') : -1
  if (comma === -1) return undefined
  const head = text.slice('data:'.length, comma).toLowerCase()
  // Not split into its parameters, of which a client may send millions.
  if (!head.endsWith(';base64')) return undefined
  const [mediaType = ''] = head.split(';', 1)
  const data = typeof url === 'string' ? decodeBase64(url, comma + 1) : url.data
  return { mediaType: mediaType || 'text/plain', data }
}

export function toDataUrl({ mediaType, data }: DataUrl): string {
  return `data:${mediaType};base64,${encodeBase64(data)}`
}
