import { randomUUID } from 'node:crypto'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import fsExtra from 'fs-extra'
import { badProject, type HostError } from '../../errors.ts'
import { runProgram } from '../run-program.ts'

export interface Version {
  /** Names the version in marks of conflicts and in differences. */
  readonly label: string
  readonly text: string
}

/** Merges two changes of a text as git does, with conflicts between markers. */
export async function mergeTexts(
  here: Version,
  base: Version,
  there: Version,
): Promise<{ readonly text: string; readonly hasConflicts: boolean }> {
  const versions = [here, base, there]
  const labels = versions.flatMap(({ label }) => ['-L', label])
  const { exitCode, stdout, stderr } = await git(
    ['merge-file', '-p', ...labels, '0', '1', '2'],
    versions.map(({ text }, index) => [String(index), text]),
  )
  // The number of conflicts; from 128 on it is an error.
  if (exitCode >= 128) throw badProject(`git could not merge ${here.label}: ${stderr.trim()}`)
  return { text: stdout, hasConflicts: exitCode > 0 }
}

/** A unified diff; empty when the texts are the same. Labels are paths. */
export async function diffTexts(before: Version, after: Version): Promise<string> {
  const { stdout, stderr, exitCode } = await git(
    [
      'diff',
      '--no-index',
      '--no-prefix',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      '--',
      before.label,
      after.label,
    ],
    [before, after].map(({ label, text }) => [label, text]),
  )
  if (exitCode > 1) throw badProject(`git could not compare ${after.label}: ${stderr.trim()}`)
  return stdout
}

/** Environment that keeps variables of a hook or of a user's settings from changing the output of Git. */
const ENVIRONMENT = {
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_EXTERNAL_DIFF: undefined,
  GIT_DIFF_OPTS: undefined,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: devNull,
}

async function git(args: readonly string[], files: readonly (readonly [path: string, text: string])[]) {
  const folder = join(tmpdir(), `agent-host-git-${randomUUID()}`)
  try {
    for (const [path, text] of files) await fsExtra.outputFile(join(folder, path), text, 'latin1')
    const options = { cwd: folder, env: ENVIRONMENT, encoding: 'latin1', stripFinalNewline: false } as const
    const { code, exitCode = 128, stdout, stderr } = await runProgram('git', args, options)
    if (code === 'ENOENT') throw missingGit()
    return { exitCode, stdout, stderr }
  } finally {
    await fsExtra.remove(folder)
  }
}

function missingGit(): HostError {
  return badProject('git compares and merges the files, and there is no git on this machine.', {
    suggestions: ['Install it (https://git-scm.com), and try again. Nothing was changed.'],
  })
}
