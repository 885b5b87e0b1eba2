/**
 * Returns a text in one line, without characters that move the cursor of a terminal or colour it: the text of agents
 * may hold anything.
 */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\p{Cc}/gu, '\ufffd')
    .trim()
}

/** Returns a text of at most `length` characters, with `…` for the rest. */
export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
