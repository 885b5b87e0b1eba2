import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Suite } from 'mocha'
import { RUN } from './run-cli.ts'
import { makeProject, type TempProject } from './temp-project.ts'

/** A user whom the list of users does not have. */
const IDS = { uid: 48_213, gid: 48_213 }

/** A suite about other users: only root can become one. */
export function describeOtherUser(title: string, suite: (this: Suite) => void): void {
  const readBuild = ['-e', 'require("fs").accessSync(process.argv[1])', RUN]
  const isAble = process.getuid?.() === 0 && spawnSync(process.execPath, readBuild, IDS).status === 0
  if (isAble) describe(title, suite)
  else describe.skip(`${title} (skipped: needs root, and a build that all may read)`, suite)
}

/** Makes a project that belongs to the other user. */
export async function makeOthersProject(files: Readonly<Record<string, string>>): Promise<TempProject> {
  const project = await makeProject(files)
  const paths = ['.', ...readdirSync(project.dir, { recursive: true }).map(String)]
  for (const path of paths) chownSync(join(project.dir, path), IDS.uid, IDS.gid)
  return project
}

/** Runs the built command line as the other user, to its end. */
export function runAsOther(args: readonly string[], { dir }: TempProject, env: NodeJS.ProcessEnv = {}) {
  const options = { ...IDS, cwd: dir, encoding: 'utf8' as const, env: { PATH: process.env.PATH, ...env } }
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], options)
  return { status, stdout, stderr }
}

/** Starts a program as the other user; `output` has what it printed so far. */
export function startAsOther(
  program: string,
  args: readonly string[],
  cwd = '/',
): { child: ChildProcess; output(): string } {
  const child = spawn(program, args, {
    ...IDS,
    cwd,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return { child, output: () => output }
}
