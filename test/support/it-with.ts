import { spawnSync } from 'node:child_process'
import type { AsyncFunc, Test } from 'mocha'

/** Programs that tests need and a machine may lack, each with a command that tells whether it is there. */
const PROBES = {
  git: ['git', ['--version']],
  'Python 3.8': ['python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']],
} as const

/** A test that needs a program (undefined: none); where that is not installed the test is skipped, and its title says so. */
export function itWith(program: keyof typeof PROBES | undefined, title: string, test: AsyncFunc): Test {
  if (program === undefined || isInstalled(program)) return it(title, test)
  return it.skip(`${title} (skipped: ${program} is not installed)`, test)
}

export function isInstalled(program: keyof typeof PROBES): boolean {
  const [command, args] = PROBES[program]
  return spawnSync(command, args).status === 0
}
