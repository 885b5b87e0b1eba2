/**
 * Checks the values of headers before a request does: its error would show them, and they may be secrets.
 *
 * @throws Error that names the header
 */
export function checkHeaderValues(headers: Readonly<Record<string, string>>, place: string): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers().set(name, value)
    } catch {
      const reason = 'has a character that no header can have, such as a line break'
      throw new Error(`${place}: the value of the header '${name}' ${reason}.`)
    }
  }
}
