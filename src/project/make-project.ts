import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import fsExtra from 'fs-extra'
import { HostError, messageOf } from '../errors.ts'
import { type ProjectChoices, planProject } from './plan-project.ts'
import { writeFiles } from './write-files.ts'

/**
 * Makes a project in a folder that is empty, or not there yet. It is written aside and moved to its place when it is
 * whole; when that fails, nothing is left behind.
 *
 * @param folder absolute
 * @throws HostError `PROJECT_INVALID` when the folder holds something, or cannot be written
 */
export async function makeProject(folder: string, choices: ProjectChoices): Promise<void> {
  await refuseUsedFolder(folder)
  const isThere = existsSync(folder)
  const draft = join(isThere ? folder : dirname(folder), `.${basename(folder)}.${process.pid}.tmp`)
  try {
    await fsExtra.ensureDir(draft)
    await writeFiles(draft, await planProject(choices))
    // A folder that is there stays the same one: somebody's shell may stand in it.
    if (isThere) await moveContent(draft, folder)
    else await fsExtra.move(draft, folder)
  } catch (cause) {
    throw new HostError('PROJECT_INVALID', `The project could not be made: ${messageOf(cause)}`, { cause })
  } finally {
    await fsExtra.remove(draft)
  }
}

/** @throws HostError `PROJECT_INVALID` */
export async function refuseUsedFolder(folder: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new HostError('PROJECT_INVALID', `${folder} cannot be used: ${messageOf(cause)}`, { cause })
  }
  if (names.length === 0) return
  throw new HostError('PROJECT_INVALID', `The folder ${folder} is not empty.`, {
    suggestions: ['Choose another name, or empty the folder. Nothing was changed.'],
  })
}

async function moveContent(draft: string, folder: string): Promise<void> {
  const moved: string[] = []
  try {
    for (const name of await readdir(draft)) {
      await fsExtra.move(join(draft, name), join(folder, name))
      moved.push(name)
    }
  } catch (error) {
    await Promise.all(moved.map((name) => fsExtra.remove(join(folder, name))))
    throw error
  }
}
