/** Characters that are decoded at a time: a multiple of four. */
const SLICE = 256 * 1024

/** Decodes base64 (RFC 4648) from an index on. In slices: the runtime would copy all of a long text to decode it at once. */
export function decodeBase64(text: string, start = 0): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Math.ceil(((text.length - start) * 3) / 4))
  let length = 0
  for (let index = start; index < text.length; index += SLICE) {
    const slice = text.slice(index, index + SLICE)
    const written = bytes.write(slice, length, 'base64')
    // Line breaks within the text: the next slice would not begin where a group of four does.
    if (written < (SLICE * 3) / 4 && index + SLICE < text.length) return Buffer.from(text.slice(start), 'base64')
    length += written
  }
  return bytes.subarray(0, length)
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
