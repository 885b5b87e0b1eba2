import { cleanText } from '../../wire/clean-text.ts'

/** Returns a text in one line, as a person is to read it: the text of agents may hold anything. */
export function oneLine(text: string): string {
  return cleanText(text.replace(/\s+/g, ' ').trim())
}
