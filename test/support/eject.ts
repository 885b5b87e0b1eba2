import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { callCli } from './call-cli.ts'
import { makeProject, type TempProject } from './temp-project.ts'

/** The bytes of every file below a folder, by their paths in it. */
export async function readTree(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(
    files.sort().map(async (file) => [relative(folder, file), await readFile(file, 'latin1')] as const),
  )
  return Object.fromEntries(texts)
}

/** A project into which modules were ejected. */
export async function makeEjected(...names: string[]): Promise<TempProject> {
  const project = await makeProject()
  const { exitCode, stderr } = await callCli(['eject', '-m', ...names], { cwd: project.dir })
  if (exitCode !== 0) throw new Error(stderr)
  return project
}

/**
 * Makes it as if a file had been ejected from 0.0.1, whose text was another: here and in the base `now` becomes `then`.
 */
export async function makeOlder(project: TempProject, path: string, now: string, then: string): Promise<void> {
  const base = `.agent-host/ejected/${path}`
  const copy = `modules/${path}`
  const older = (text: string) => {
    if (!text.includes(now)) throw new Error(`${path} does not contain ${now}`)
    return text.replace(now, then)
  }
  await project.write(base, older(await project.read(base)))
  await project.write(copy, older(await project.read(copy)).replace(/agent-host \S+:/, 'agent-host 0.0.1:'))
}

export async function edit(project: TempProject, file: string, now: string, then: string): Promise<void> {
  const text = await project.read(file)
  if (!text.includes(now)) throw new Error(`${file} does not contain ${now}`)
  await project.write(file, text.replace(now, then))
}
