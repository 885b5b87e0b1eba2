import { DecodedUrl, readDataUrl } from '../../data-url.ts'
import type { Attachment } from '../../protocols/message.ts'
import { invalidField } from './invalid-field.ts'

/** Media types of files that are named by an address, by their ending. */
const TYPES: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
}

/**
 * Reads an attachment from the address that a request gives: bytes from a data URL (RFC 2397), any other address as it is. It is
 * handed on, never fetched.
 *
 * @param fallback media type of an address without a known extension
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readAddress(address: unknown, field: string, fallback: string, name?: string): Attachment {
  if (typeof address !== 'string' && !(address instanceof DecodedUrl)) {
    throw invalidField(field, 'must be a URL')
  }
  const named = name === undefined ? {} : { name }
  const bytes = readDataUrl(address)
  if (bytes) return { ...bytes, ...named }
  if (typeof address !== 'string' || !URL.canParse(address) || !/^https?:/i.test(address)) {
    throw invalidField(field, 'must be an http(s) URL, or a data URL in base64')
  }
  const data = new URL(address)
  const ending = /\.([a-z0-9]+)$/i.exec(data.pathname)?.[1]?.toLowerCase() ?? ''
  return { mediaType: TYPES[ending] ?? fallback, data, ...named }
}

/**
 * Reads an image from its address, and the detail that a model is to read it in; other words than the known ones are the model's default.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readImage(address: unknown, detail: unknown, field: string): Attachment {
  const image = readAddress(address, field, 'image/*')
  return typeof detail === 'string' && DETAILS.has(detail) ? { ...image, detail } : image
}

const DETAILS: ReadonlySet<string> = new Set(['low', 'high', 'auto', 'original'])

/**
 * Returns the attachment, which must not be empty.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function requireBytes<T extends Attachment | undefined>(attachment: T, field: string): T {
  const isEmpty = attachment && !(attachment.data instanceof URL) && attachment.data.byteLength === 0
  if (isEmpty) throw invalidField(field, 'holds no bytes in base64')
  return attachment
}
