import { decodeBase64, encodeBase64 } from '../base64.ts'

/** Bytes of a data URL (RFC 2397), with their media type. */
export interface DataUrl {
  readonly mediaType: string
  readonly data: Uint8Array
}

/** Reads a data URL without copying its text; undefined for other URLs, and for data that is not base64. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  if (comma === -1) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  if (parameters.at(-1) !== 'base64') return undefined
  return { mediaType: mediaType || 'text/plain', data: decodeBase64(url, comma + 1) }
}

export function toDataUrl({ mediaType, data }: DataUrl): string {
  return `data:${mediaType};base64,${encodeBase64(data)}`
}
