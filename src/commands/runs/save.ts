import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { HostError } from '../../errors.ts'
import { findFailedCall, makeSavedTest, TEST_NAME } from '../../tape/saved-test.ts'
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
    const [{ turn, head }] = tape.runs.slice(-1) as [(typeof tape.runs)[number]]
    const name = flags.name ?? `${head.agent.id.replaceAll('.', '-')}-${turn.run_id.slice(0, 8)}`
    if (!TEST_NAME.test(name)) {
      throw new HostError('OPTION_INVALID', `--name must be letters, digits, '-' and '_', not '${name}'.`)
    }
    const files = [
      { path: join('tests', `${name}.test.ts`), content: makeSavedTest(tape, name) },
      { path: join('tests', 'tapes', `${name}.jsonl.gz`), content: bytes },
    ]
    writeAll(files)
    for (const { path } of files) this.log(`Created ${path}`)
    const failed = findFailedCall(tape)
    this.log(`Run it: agent-host test ${files[0]?.path}`)
    if (failed) this.log(`The run failed in a call of '${failed.line.module}': the test passes once that is mended.`)
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
