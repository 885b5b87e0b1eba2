import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A project folder. */
export interface TempProject {
  readonly dir: string
  path(file: string): string
  write(file: string, text: string): Promise<void>
  read(file: string): Promise<string>
  move(from: string, to: string): Promise<void>
  remove(file: string): Promise<void>
  exists(file: string): boolean
}

const open: string[] = []

/** Makes a folder that lives as long as a test. @param files texts by path; `makeProject({ 'agents/a.yml': '...' })` */
export async function makeProject(files: Readonly<Record<string, string>> = {}): Promise<TempProject> {
  const project = await makeSharedProject(files)
  open.push(project.dir)
  return project
}

/** Makes a folder that lives until its suite removes it. */
export async function makeSharedProject(files: Readonly<Record<string, string>>): Promise<TempProject> {
  const dir = await mkdtemp(join(tmpdir(), 'agent-host-test-'))
  const path = (file: string) => join(dir, file)
  const project: TempProject = {
    dir,
    path,
    async write(file, text) {
      await mkdir(dirname(path(file)), { recursive: true })
      await writeFile(path(file), text)
    },
    read: (file) => readFile(path(file), 'utf8'),
    move: (from, to) => rename(path(from), path(to)),
    remove: (file) => rm(path(file), { recursive: true }),
    exists: (file) => existsSync(path(file)),
  }
  for (const [file, text] of Object.entries(files)) await project.write(file, text)
  return project
}

/** Removes a folder, even if a process that was just killed still writes to it. */
export function removeFolder(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}

/** Root hook: no folder outlives its test. */
export const mochaHooks = {
  async afterEach(): Promise<void> {
    for (const dir of open.splice(0)) await removeFolder(dir)
  },
}
