import { existsSync } from 'node:fs'
import { Args } from '@oclif/core'
import { badProject } from '../errors.ts'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { BaseCommand } from './base-command.ts'

/** A script may take as long as it likes: the longest time that a timer takes. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

export default class Run extends BaseCommand {
  static override description = 'Runs a TypeScript or JavaScript file of this project, without a build step.'
  static override examples = ['agent-host run scripts/import.ts', 'agent-host run scripts/import.ts a --b']
  static override strict = false
  static override args = {
    file: Args.string({ required: true, description: 'File to run; arguments after it are passed to the file' }),
  }

  override async run(): Promise<void> {
    // What follows the file is never an option of this command.
    const [file = '', ...rest] = this.argv
    if (file === '' || file.startsWith('-')) await this.parse(Run)
    const path = this.pathOf(file)
    if (!existsSync(path)) throw badProject(`There is no file ${path}.`)
    // As the runs of `chat` and `tool`: a development server of the project shows them, too.
    process.env[SERVER_OPTIONS.debug.variable] ??= 'true'
    const { ProjectCode } = await import('../module/project-code.ts')
    process.argv = [process.execPath, path, ...rest]
    await new ProjectCode(process.cwd(), NO_TIMEOUT_MS).load(path)
  }
}
