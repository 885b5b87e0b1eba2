import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** SHA-256 of a file in hexadecimal digits; undefined where it cannot be read. */
export function hashFile(path: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return undefined
  }
}
