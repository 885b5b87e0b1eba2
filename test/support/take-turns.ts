import { renameSync, symlinkSync, writeFileSync } from 'node:fs'

/** Has a file and a link to elsewhere take turns under one name, until the returned function is called. */
export function takeTurns(path: string, text: string, elsewhere: string): () => void {
  let turn = 0
  let left = 0
  let next: NodeJS.Immediate | undefined
  const swap = () => {
    next = setImmediate(swap)
    if (left-- > 0) return
    // Each stays for one to a thousand turns of the event loop: what is read in many of them has to meet one alone now and then.
    left = 2 ** ((turn >> 1) % 11)
    const made = `${path}.${turn}`
    if (turn++ % 2 === 0) symlinkSync(elsewhere, made)
    else writeFileSync(made, text)
    renameSync(made, path)
  }
  swap()
  return () => clearImmediate(next)
}
