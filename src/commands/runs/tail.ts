import { setTimeout } from 'node:timers/promises'
import { Flags } from '@oclif/core'
import { BaseCommand } from '../base-command.ts'
import { followRuns, shortensIds } from './format-run.ts'
import { openReader } from './open-reader.ts'

/** Interval at which it looks for new events. */
const LOOK_EVERY_MS = 250
const MAX_CHANGES = 500

export default class RunsTail extends BaseCommand {
  static override description = 'Follows the runs of this project: one line when a run starts, and one when it ends.'
  static override examples = ['agent-host runs tail', 'agent-host runs tail --agent example --json']
  static override flags = {
    agent: Flags.string({ description: 'Only runs of this agent' }),
    json: Flags.boolean({ description: 'Print one JSON object per line' }),
  }

  override async run(): Promise<void> {
    const { agent, json } = (await this.parse(RunsTail)).flags
    this.requireProject()
    const reader = await openReader()
    const shown = new Map<string, string>()
    let change = reader.index.runs.lastChange()
    let isStopped = false
    const stop = () => {
      isStopped = true
    }
    process.once('SIGINT', stop)
    // Its reader has left, such as `head`: oclif says nothing of it.
    process.stdout.once('error', stop)
    const table = followRuns({ shortId: shortensIds(reader), width: process.stdout.columns ?? Infinity })
    if (!json) this.log(table.title)
    while (!isStopped) {
      reader.catchUp()
      // A server that starts meanwhile knows more about its runs than their files.
      reader.index.releaseWriterLock()
      for (const { change: latest, ...run } of reader.index.runs.changes(change, MAX_CHANGES)) {
        change = latest
        // A run in progress changes with every call.
        if (run.eval_case !== null || (agent !== undefined && run.agent_id !== agent)) continue
        if (shown.get(run.run_id) === run.status) continue
        if (run.status === 'running') shown.set(run.run_id, run.status)
        else shown.delete(run.run_id)
        this.log(json ? JSON.stringify(run) : table.line(run))
      }
      await setTimeout(LOOK_EVERY_MS)
    }
    reader.close()
  }
}
