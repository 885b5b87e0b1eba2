import { FUNCTION, requireGiven, UINT8_ARRAY } from './given.ts'

/**
 * Returns the text of a file, without a byte order mark: UTF-8, or UTF-16 as shells of Windows write it.
 *
 * @param file name of the file in the warning
 * @param warn told of bytes that are no text; in the text `\uFFFD` stands for them
 *
 * @example
 * ```ts
 * export async function readNotes(path: string, warn: (message: string) => void): Promise<string> {
 *   return decodeText(await readRegularFile(path), path, warn)
 * }
 * ```
 */
export function decodeText(bytes: Uint8Array, file: string, warn: (message: string) => void): string {
  requireGiven(UINT8_ARRAY, bytes, 'bytes')
  requireGiven(FUNCTION, warn, 'warn')
  const encoding = encodingOf(bytes)
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    warn(`${file} is not UTF-8 text. Save it as UTF-8.`)
    return new TextDecoder(encoding).decode(bytes)
  }
}

/** Without a mark, UTF-16 shows by the zero beside the first character, which no text has. */
function encodingOf([first, second]: Uint8Array): string {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || first === 0 ? 'utf-16be' : 'utf-8'
}
