import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { HostError } from '../../errors.ts'
import { toSavedRun } from '../../tape/saved-test.ts'
import { BaseCommand } from '../base-command.ts'
import { findTape } from '../replay/find-tape.ts'

export default class RunsSave extends BaseCommand {
  static override description =
    'Saves a recorded run as a test: tests/<name>.test.ts and its tape. It pins the calls of tools, the answer and the end.'
  static override examples = ['<%= config.bin %> runs save 4f1c', '<%= config.bin %> runs save 4f1c --name refund']
  static override args = {
    run_id: Args.string({ description: 'Id of the run, its first characters, or the file of a tape', required: true }),
  }
  static override flags = {
    name: Flags.string({
      description: 'Name of the test: letters, digits, - and _ [default: the agent and the beginning of the id]',
      helpValue: '<name>',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RunsSave)
    this.requireProject()
    const { tape, bytes } = findTape(args.run_id, (file) => this.pathOf(file))
    const { testFile, tapeFile, test, advice } = toSavedRun(tape, flags.name)
    const files = [
      { path: testFile, content: test },
      { path: tapeFile, content: bytes },
    ]
    writeAll(files)
    for (const { path } of files) this.log(`Created ${path}`)
    this.log(`Run it: agent-host test ${testFile}`)
    if (advice !== null) this.log(advice)
    this.log('The tape holds the whole run, without secrets: look at what you commit.')
  }
}

/** @throws HostError `PROJECT_INVALID` where a file exists; nothing is written then */
function writeAll(files: readonly { path: string; content: string | Uint8Array }[]): void {
  const taken = files.find(({ path }) => existsSync(path))
  if (taken) {
    throw new HostError('PROJECT_INVALID', `${taken.path} already exists.`, {
      suggestions: ['Choose another name with --name, or remove it.'],
    })
  }
  const written: string[] = []
  try {
    for (const { path, content } of files) {
      mkdirSync(dirname(path), { recursive: true })
      written.push(path)
      writeFileSync(path, content, { flag: 'wx' })
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true })
    throw error
  }
}
