/** Handles keys on a terminal; Ctrl-C still interrupts. */
export function onKeys(actions: Readonly<Record<string, () => void>>): void {
  const { stdin } = process
  if (!stdin.isTTY) return
  stdin.setRawMode(true)
  stdin.resume()
  stdin.setEncoding('utf8').on('data', (typed: string) => {
    for (const key of typed) {
      // In raw mode Ctrl-C is a key like any other.
      if (key === '\u0003') process.emit('SIGINT')
      else actions[key]?.()
    }
  })
}
