import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fsExtra from 'fs-extra'
import { systemCodeOf } from '../errors.ts'
import { findLink } from './find-link.ts'

/** A file that a command wants to be in a project. */
export interface PlannedFile {
  /** Relative to the folder that it is written into, with `/`. */
  readonly path: string
  readonly content: string | Uint8Array
  /** File mode of a new file; 0o644 when left out. */
  readonly mode?: number
  /** It takes the place of a file that is there. */
  readonly replaces?: boolean
  /** It belongs to agent-host alone: no link on its way is followed. */
  readonly isOwn?: boolean
}

export interface WrittenFile {
  readonly path: string
  readonly outcome: 'created' | 'updated' | 'skipped'
}

/**
 * Writes files into a folder, each whole or not at all. What exists is never changed, unless its plan says so: it is
 * skipped.
 *
 * @throws Error of the file system, or naming the link on the way of a file that is agent-host's own
 * @param options.dryRun writes nothing, and only reports the outcome for each file
 * @returns the outcome for each file, in the order of the plan
 */
export async function writeFiles(
  folder: string,
  plan: readonly PlannedFile[],
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<WrittenFile[]> {
  for (const { path, isOwn } of plan) if (isOwn) await refuseLink(folder, path)
  const written: WrittenFile[] = []
  for (const file of plan) {
    const target = join(folder, file.path)
    const isThere = existsSync(target)
    const outcome = isThere ? (file.replaces ? 'updated' : 'skipped') : 'created'
    written.push({ path: file.path, outcome: dryRun || outcome === 'skipped' ? outcome : await write(target, file) })
  }
  return written
}

/**
 * Writes files into a folder, all of them or none: when one cannot be written, those that were new are removed.
 *
 * @param refuse makes the error for a file that is there, and that the plan does not replace
 */
export async function writeAllOrNone(
  folder: string,
  plan: readonly PlannedFile[],
  refuse: (path: string) => Error,
): Promise<void> {
  const created: string[] = []
  try {
    for (const file of plan) {
      const [written] = await writeFiles(folder, [file])
      if (written?.outcome === 'skipped') throw refuse(file.path)
      if (!file.replaces) created.push(file.path)
    }
  } catch (error) {
    for (const path of created) await fsExtra.remove(join(folder, path))
    throw error
  }
}

async function refuseLink(folder: string, path: string): Promise<void> {
  const link = await findLink(folder, path)
  if (link !== undefined) throw new Error(`${link} is a link. Remove it.`)
}

async function write(
  target: string,
  { content, mode = 0o644, replaces }: PlannedFile,
): Promise<WrittenFile['outcome']> {
  await fsExtra.ensureDir(dirname(target))
  if (replaces && existsSync(target)) return replaceWhole(await realpath(target), content)
  return createWhole(target, content, mode)
}

/** Under another name first: a link can be made once, and never over a file that came in between. */
async function createWhole(target: string, content: string | Uint8Array, mode: number): Promise<'created' | 'skipped'> {
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    await fsExtra.writeFile(temporary, content, { mode, flag: 'wx' })
    await fsExtra.link(temporary, target).catch((error) => {
      if (systemCodeOf(error) === 'EEXIST') throw error
      // Memory sticks and some network drives have no second names.
      return fsExtra.copyFile(temporary, target, constants.COPYFILE_EXCL)
    })
    return 'created'
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return 'skipped'
    throw error
  } finally {
    await fsExtra.remove(temporary)
  }
}

async function replaceWhole(target: string, content: string | Uint8Array): Promise<'updated'> {
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    const { mode } = await stat(target)
    await fsExtra.writeFile(temporary, content, { mode, flag: 'wx' })
    await fsExtra.rename(temporary, target)
    return 'updated'
  } finally {
    await fsExtra.remove(temporary)
  }
}
