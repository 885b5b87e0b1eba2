import { cleanText } from '../../wire/clean-text.ts'

/** Writes a line on standard error: on a terminal, with the characters escaped that would show it otherwise than it is. */
export function printError(message: string): void {
  process.stderr.write(`${process.stderr.isTTY ? cleanText(message) : message}\n`)
}
