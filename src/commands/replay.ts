import { Args, Flags } from '@oclif/core'
import { lastRunOf, type Tape } from '../tape/file/read-tape.ts'
import { describeDivergence } from '../tape/replaying/divergence.ts'
import { findAgent } from '../tape/replaying/find-agent.ts'
import type { Replay as Outcome } from '../tape/replaying/replay.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { BaseCommand } from './base-command.ts'
import { findTape } from './replay/find-tape.ts'
import { readChange } from './replay/read-change.ts'
import { RecordedAgain } from './replay/recorded-again.ts'
import { plural } from './terminal/plural.ts'

export default class Replay extends BaseCommand {
  static override description =
    'Runs a recorded run again from its tape: models, tools, memories and records answer as they did, and nothing is called. Exits with 1 at the first difference.'
  static override examples = [
    'agent-host replay 4f1c',
    'agent-host replay tests/tapes/refund.jsonl.gz',
    'agent-host replay 4f1c --as-recorded',
    'agent-host replay 4f1c --live llm --from 3',
  ]
  static override usage =
    'replay TAPE [--as-recorded] [--set <module>.<path>=<value>...] [--json] [--live <name>... [--from <call>] [--update]] [--agent-dir <value>]'
  static override args = {
    tape: Args.string({ description: 'Id of the run, its first characters, or the file of a tape', required: true }),
  }
  static override flags = {
    'as-recorded': Flags.boolean({ description: 'Replay the agent as it was, instead of the one in the project' }),
    set: Flags.string({
      description:
        'Change a value of the agent: a prompt, a model, a temperature, or another that its modules let you change; can be given several times',
      helpValue: '<module>.<path>=<value>',
      multiple: true,
    }),
    json: Flags.boolean({ description: 'Print the outcome as JSON' }),
    live: Flags.string({
      description: 'Call these for real: llm, tools, or the id of a module; can be given several times',
      helpValue: '<name>',
      helpGroup: 'live',
      multiple: true,
    }),
    from: Flags.integer({
      description: 'First call that --live is for; the ones before come from the tape',
      helpValue: '<call>',
      helpGroup: 'live',
      min: 1,
      dependsOn: ['live'],
    }),
    update: Flags.boolean({
      description: 'Record what --live calls, and replace the tape and its test',
      helpGroup: 'live',
      dependsOn: ['live'],
    }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Replay)
    const asRecorded = flags['as-recorded']
    const { tape, path } = await findTape(args.tape, (file) => this.pathOf(file))
    if (!asRecorded) this.requireProject()
    const { replayTape } = await import('../tape/replaying/replay.ts')
    const { memoryStorage } = await import('../store/memory-storage.ts')
    const recording = flags.update ? new RecordedAgain(process.cwd()) : undefined
    const outcome = await replayTape(tape, {
      projectDir: process.cwd(),
      agent: asRecorded
        ? undefined
        : await findAgent(tape, { projectDir: process.cwd(), agentDir: flags['agent-dir'] ?? DEFAULT_AGENT_DIR }),
      changes: (flags.set ?? []).map((text) => readChange(text)),
      live: flags.live ?? [],
      from: flags.from ?? 1,
      storage: memoryStorage(),
      record: recording,
    })
    if (flags.json) this.printJson(toJson(outcome))
    else this.#print(tape, outcome)
    if (outcome.divergence) this.exit(1)
    if (recording && outcome.runs.at(-1)?.status === 'failed' && lastRunOf(tape).end.status !== 'failed') {
      this.logToStderr('The tape stays as it was: the run fails now, and did not when it was recorded.')
      this.exit(1)
    }
    for (const line of (await recording?.replace(tape, path)) ?? []) this.logToStderr(line)
  }

  #print(tape: Tape, { divergence, changedFiles, liveCalls, runs }: Outcome): void {
    for (const { file, modules } of changedFiles) {
      const owners = modules.length === 0 ? '' : ` (${modules.join(', ')})`
      this.logToStderr(`Changed since the run: ${file}${owners}`)
    }
    if (divergence) {
      for (const line of describeDivergence(divergence)) this.logToStderr(line)
      return
    }
    const last = runs.at(-1)
    if (last?.isBeyond) {
      this.log('The recorded run failed, and this one did not: it went on to the end of the tape.')
      return
    }
    this.log(last?.status === 'completed' ? last.text : `${last?.status}: ${last?.error ?? describePending(last)}`)
    const count = tape.runs.reduce((sum, { calls }) => sum + calls.length, 0)
    const live = liveCalls === 0 ? '' : `, ${plural(liveCalls, 'call')} made for real`
    this.logToStderr(`Replayed ${tape.name}: ${plural(count, 'call')} on the tape${live}.`)
  }
}

function describePending(run: Outcome['runs'][number] | undefined): string {
  return (run?.pending ?? []).map(({ kind, name }) => `${name} (${kind})`).join(', ')
}

function toJson({ runs, divergence, changedFiles, liveCalls }: Outcome): object {
  return {
    runs: runs.map(({ recorded, status, text, error, pending }) => ({
      run_id: recorded.turn.run_id,
      status,
      text,
      error,
      pending,
    })),
    divergence: divergence ?? null,
    changed_files: changedFiles,
    live_calls: liveCalls,
  }
}
