import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fsExtra from 'fs-extra'

/** A file that a command wants to be in a project. */
export interface PlannedFile {
  /** Relative to the folder that it is written into, with `/`. */
  readonly path: string
  readonly content: string | Buffer
  /** File mode; 0o644 when left out. */
  readonly mode?: number
}

export interface WrittenFile {
  readonly path: string
  readonly outcome: 'created' | 'skipped'
}

/**
 * Writes files into a folder, each whole or not at all. What exists is never changed: it is skipped.
 *
 * @returns what became of each, in the order of the plan
 */
export async function writeFiles(folder: string, plan: readonly PlannedFile[]): Promise<WrittenFile[]> {
  const written: WrittenFile[] = []
  for (const { path, content, mode = 0o644 } of plan) {
    const target = join(folder, path)
    await fsExtra.ensureDir(dirname(target))
    written.push({ path, outcome: existsSync(target) ? 'skipped' : await writeWhole(target, content, mode) })
  }
  return written
}

/** Under another name first: a link can be made once, and never over a file that came in between. */
async function writeWhole(target: string, content: string | Buffer, mode: number): Promise<'created' | 'skipped'> {
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    await fsExtra.writeFile(temporary, content, { mode, flag: 'wx' })
    await fsExtra.link(temporary, target)
    return 'created'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'skipped'
    throw error
  } finally {
    await fsExtra.remove(temporary)
  }
}
