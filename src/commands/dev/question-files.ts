import { join, posix } from 'node:path'
import { badOption, badProject, messageOf, systemCodeOf } from '../../errors.ts'
import { findLink } from '../../project/find-link.ts'
import { writeAllOrNone } from '../../project/write-files.ts'
import { NO_LINKS, readRegularFileSync } from '../../read-regular-file.ts'
import type { PlannedWrite } from '../../server/adapters/ui/questions/questions.ts'

/** Folders of the project that a question may write into. */
const FOLDERS = ['agents', 'tests', 'evals']
const MAX_BYTES = 64 * 1024 * 1024

/** File that is written after a yes, with its content before; undefined for a new one. */
export interface CheckedWrite extends PlannedWrite {
  readonly before: Buffer | undefined
}

/**
 * Reads a file that a question may write; undefined where there is none.
 *
 * @throws HostError `OPTION_INVALID` for another place; `PROJECT_INVALID` for a link, a file behind one, and what is no file
 */
export async function readTarget(projectDir: string, path: string): Promise<Buffer | undefined> {
  const [folder = '', ...rest] = path.split('/')
  const isPlain = posix.normalize(path) === path && !/[\\\0:]/.test(path) && rest.at(-1) !== ''
  if (!isPlain || rest.length === 0 || !FOLDERS.includes(folder)) {
    throw badOption(`'${path}' does not lie in ${FOLDERS.join('/, ')}/: nothing else is written.`)
  }
  const link = await findLink(projectDir, path)
  if (link !== undefined) throw badProject(`${link} is a link, and none is followed. Name the file itself.`)
  try {
    return readRegularFileSync(join(projectDir, path), MAX_BYTES, NO_LINKS)
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT') return undefined
    throw badProject(`${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** Writes the files, those that are new first, if all are as they were. @returns false where one is not, and nothing was written */
export async function writeChecked(projectDir: string, writes: readonly CheckedWrite[]): Promise<boolean> {
  for (const { path, before } of writes) if (!isSame(await readTarget(projectDir, path), before)) return false
  const plan = writes.map(({ path, content, before }) => {
    return { path, content: Buffer.from(content), replaces: before !== undefined, isOwn: true }
  })
  await writeAllOrNone(projectDir, plan, (path) => badProject(`${path} came in between.`))
  return true
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}
