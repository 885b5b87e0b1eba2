import { createHash } from 'node:crypto'
import { readRegularFileSync } from '../../read-regular-file.ts'

/** SHA-256 of a regular file in hexadecimal digits; undefined where it cannot be read. */
export function hashFile(path: string): string | undefined {
  try {
    return createHash('sha256').update(readRegularFileSync(path)).digest('hex')
  } catch {
    return undefined
  }
}
