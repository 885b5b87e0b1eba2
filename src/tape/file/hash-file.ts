import { hash } from 'node:crypto'
import { readRegularFileSync } from '../../read-regular-file.ts'

/** SHA-256 of a regular file in hexadecimal digits; undefined where it cannot be read. */
export function hashFile(path: string): string | undefined {
  try {
    return hash('sha256', readRegularFileSync(path))
  } catch {
    return undefined
  }
}
