import { appendFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { badProject, type HostError } from '../../errors.ts'
import { planRow, toSavedCase } from '../../evals/case-row.ts'
import { writeAllOrNone } from '../../project/write-files.ts'
import type { Tape } from '../../tape/file/read-tape.ts'
import { toSavedRun } from '../../tape/saved-tests/saved-test.ts'
import { BaseCommand } from '../base-command.ts'
import { findTape } from '../replay/find-tape.ts'

export default class RunsSave extends BaseCommand {
  static override description =
    'Saves a recorded run as a test: tests/<name>.test.ts and its tape. The test checks the calls of tools, the answer and how the run ended. With --case it becomes a case of an eval.'
  static override examples = [
    'agent-host runs save 4f1c',
    'agent-host runs save 4f1c --name refund',
    'agent-host runs save 4f1c --case evals/refunds.jsonl',
  ]
  static override args = {
    run_id: Args.string({ description: 'Id of the run, its first characters, or the file of a tape', required: true }),
  }
  static override flags = {
    name: Flags.string({
      description:
        'Name of the test, or id of the case: letters, digits, - and _ [default: the agent and the beginning of the id]',
      helpValue: '<name>',
    }),
    case: Flags.string({
      description: 'Add the run to this file of cases instead, with its tape beside it',
      helpValue: '<file>',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RunsSave)
    this.requireProject()
    const { tape, bytes } = await findTape(args.run_id, (file) => this.pathOf(file))
    if (flags.case !== undefined) return this.#saveCase(tape, bytes, this.pathOf(flags.case), flags.name)
    const { testFile, tapeFile, test, advice } = toSavedRun(tape, flags.name)
    const files = [
      { path: testFile, content: test },
      { path: tapeFile, content: bytes },
    ]
    await writeAllOrNone(process.cwd(), files, existing)
    for (const { path } of files) this.log(`Created ${path}`)
    this.log(`Run it: agent-host test ${testFile}`)
    if (advice !== null) this.log(advice)
    this.log(LOOK)
  }

  async #saveCase(tape: Tape, bytes: Uint8Array, file: string, name: string | undefined): Promise<void> {
    const saved = toSavedCase(tape, name)
    const { id, tapeFile } = saved
    const shown = relative(process.cwd(), file)
    const added = await planRow(saved, shown, process.cwd())
    const tapePath = join(dirname(file), tapeFile)
    const tapePlan = { path: relative(process.cwd(), tapePath), content: bytes }
    await writeAllOrNone(process.cwd(), [tapePlan], existing)
    try {
      appendWhole(file, added)
    } catch (error) {
      rmSync(tapePath, { force: true })
      throw error
    }
    this.log(`Added case '${id}' to ${shown}`)
    this.log(`Created ${relative(process.cwd(), tapePath)}`)
    this.log(`Run it: agent-host eval ${shown}`)
    if (tape.runs.at(-1)?.end.status === 'failed') this.log('The run failed: write into the row what you expect.')
    this.log(LOOK)
  }
}

const LOOK = 'The tape holds the whole run, without secrets: look at what you commit.'

function existing(path: string): HostError {
  return badProject(`${path} already exists.`, { suggestions: ['Choose another name with --name, or remove it.'] })
}

/** Adds to a file, or leaves it as it was: half a row would spoil the next one, too. */
function appendWhole(path: string, text: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  try {
    appendFileSync(path, text)
  } catch (error) {
    if (before) truncateSync(path, before.size)
    else rmSync(path, { force: true })
    throw error
  }
}
