/** Quotes a text for a POSIX shell, which takes everything between single quotes as it is. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
