import { changedPart } from '../../wire/describe-change.ts'
import { plural } from '../terminal/plural.ts'
import type { CheckedWrite } from './question-files.ts'

/** Characters that move the cursor, that show a text in another order, or that nobody sees. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Returns the lines that show a file of a question: its path, and each line that it loses or gets. */
export function describeWrite({ path, content, before, summary }: CheckedWrite): string[] {
  const size = plural(content.length, 'byte')
  const head = `  ${showAll(path)}  ${before ? 'changed' : 'new'}, ${size}${summary === undefined ? '' : `: ${showAll(summary)}`}`
  return summary === undefined ? [head, ...difference(linesOf(before), linesOf(content))] : [head]
}

/** Text of one line in which every character is seen. */
export function showAll(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Lines between those that are the same at the beginning and at the end. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const { start, lost, got } = changedPart(before, after)
  return [`  @@ line ${start + 1} @@`, ...lost.map((line) => `  - ${line}`), ...got.map((line) => `  + ${line}`)]
}

/** Lines with what ends them, if that is more than a newline. */
function linesOf(bytes: Uint8Array | undefined): string[] {
  if (!bytes || bytes.length === 0) return []
  const lines = Buffer.from(bytes).toString('utf8').split('\n').map(showAll)
  return lines.at(-1) === '' ? lines.slice(0, -1) : [...lines.slice(0, -1), `${lines.at(-1)} (no newline at the end)`]
}
