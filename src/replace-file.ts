import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Replaces a file as a whole: a reader never finds half of it. Nothing is written through a link, neither in place of the file nor of
 * its draft. If it fails, no draft is left.
 *
 * @param mode of the new file. Default: as the process creates files
 */
export function replaceFile(path: string, content: string | Uint8Array, mode?: number): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, content, { flag: 'wx', mode })
    renameSync(draft, path)
  } catch (error) {
    removeIfPossible(draft)
    throw error
  }
}

function removeIfPossible(draft: string): void {
  try {
    rmSync(draft, { force: true })
  } catch {
    // The error of the write says more.
  }
}
