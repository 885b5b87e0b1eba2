import { gzipSync } from 'node:zlib'

/** A tenth larger than with the default, for two thirds of its time. */
const LEVEL = 3
/** A small text needs no large window, which costs more to set up than to use. */
const SMALL = 4096
const SMALL_WINDOW = { windowBits: 12, memLevel: 5, chunkSize: 4096, level: LEVEL }

/** Compresses a part of a tape: gzip files may be put one after another (RFC 1952, 2.2). */
export function compress(text: string): Buffer {
  const bytes = Buffer.from(text)
  return gzipSync(bytes, bytes.length <= SMALL ? SMALL_WINDOW : { level: LEVEL })
}
