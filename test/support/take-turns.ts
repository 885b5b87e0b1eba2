import { renameSync, symlinkSync, writeFileSync } from 'node:fs'

/** Has a file and a link to elsewhere take turns under one name, until the returned function is called. */
export function takeTurns(path: string, text: string, elsewhere: string): () => void {
  let turn = 0
  let next: NodeJS.Immediate | undefined
  const swap = () => {
    const made = `${path}.${turn}`
    if (turn++ % 2 === 0) symlinkSync(elsewhere, made)
    else writeFileSync(made, text)
    renameSync(made, path)
    next = setImmediate(swap)
  }
  swap()
  return () => clearImmediate(next)
}
