import { existsSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import fsExtra from 'fs-extra'
import { badProject, messageOf, systemCodeOf } from '../../errors.ts'
import { listFiles } from '../list-files.ts'
import { writeFiles } from '../write-files.ts'
import { type ProjectChoices, planProject } from './plan-project.ts'

/** Files of a new repository or an editor: a folder with nothing else counts as empty. */
const TOLERATED = ['.git', '.gitignore', 'LICENSE', 'README.md', '.idea', '.vscode', '.DS_Store']

/**
 * Creates a project in a folder that is empty, or not there yet. It is written aside and moved to its place when it is
 * whole; when that fails, or Ctrl-C comes in between, nothing is left behind. Files that are there are kept.
 *
 * @param folder absolute
 * @returns files of the template that were not written because the folder has its own
 * @throws HostError `PROJECT_INVALID` when the folder holds something else, or cannot be written
 */
export async function makeProject(folder: string, choices: ProjectChoices): Promise<string[]> {
  await refuseUsedFolder(folder)
  const isThere = existsSync(folder)
  const draft = join(isThere ? folder : dirname(folder), `.${basename(folder)}.${process.pid}.tmp`)
  const removeDraft = () => rmSync(draft, { recursive: true, force: true })
  const cancel = () => {
    removeDraft()
    process.exit(130)
  }
  process.once('SIGINT', cancel)
  try {
    await fsExtra.ensureDir(draft)
    await writeFiles(draft, await planProject(choices))
    // A folder that is there stays the same one: a shell may stand in it.
    if (isThere) return await moveFiles(draft, folder)
    await fsExtra.move(draft, folder)
    return []
  } catch (cause) {
    throw badProject(`Cannot create the project: ${messageOf(cause)}`, { cause })
  } finally {
    process.off('SIGINT', cancel)
    removeDraft()
  }
}

/** @throws HostError `PROJECT_INVALID` */
export async function refuseUsedFolder(folder: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT') return
    if (systemCodeOf(cause) === 'ENOTDIR') throw badProject(`${folder} is not a folder.`, { cause })
    throw badProject(`Cannot use ${folder}: ${messageOf(cause)}`, { cause })
  }
  if (names.every((name) => TOLERATED.includes(name))) return
  throw badProject(`The folder ${folder} is not empty.`, {
    suggestions: ['Choose another name, or empty the folder. Nothing was changed.'],
  })
}

/** All of them or none: those that were moved before one fails are taken back. */
async function moveFiles(draft: string, folder: string): Promise<string[]> {
  const moved: string[] = []
  const kept: string[] = []
  try {
    for (const path of (await listFiles(draft)).sort()) {
      if (existsSync(join(folder, path))) kept.push(path)
      else {
        await fsExtra.move(join(draft, path), join(folder, path))
        moved.push(path)
      }
    }
    return kept
  } catch (error) {
    for (const path of moved) await removeWithEmptyFolders(folder, path)
    throw error
  }
}

async function removeWithEmptyFolders(folder: string, path: string): Promise<void> {
  await fsExtra.remove(join(folder, path))
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    if ((await readdir(join(folder, parent))).length > 0) return
    await fsExtra.remove(join(folder, parent))
  }
}
