/** Returns a text of at most `length` characters, with `…` for the rest. */
export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
