import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Args } from '@oclif/core'
import { HostError } from '../errors.ts'
import { BaseCommand } from './base-command.ts'

export default class Test extends BaseCommand {
  static override description = "Runs this project's tests (tests/*.test.ts) with node:test, without a build step."
  static override examples = ['<%= config.bin %> test', '<%= config.bin %> test tests/example.test.ts']
  static override args = { file: Args.string({ description: 'One test file instead of all' }) }

  override async run(): Promise<void> {
    const { args } = await this.parse(Test)
    const { ProjectCode } = await import('../module/project-code.ts')
    const code = new ProjectCode(process.cwd())
    // node:test runs what a file declares once it is loaded, prints the outcome, and sets the exit code.
    for (const file of args.file ? [args.file] : await listTests()) await code.load(file)
  }
}

async function listTests(): Promise<string[]> {
  const names = existsSync('tests') ? await readdir('tests', { recursive: true }) : []
  const files = names.filter((name) => /\.test\.m?[jt]s$/.test(name)).sort()
  if (files.length > 0) return files.map((name) => join('tests', name))
  throw new HostError('PROJECT_INVALID', 'There are no tests: no file tests/*.test.ts.')
}
