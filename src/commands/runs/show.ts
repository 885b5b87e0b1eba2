import { Args, Flags } from '@oclif/core'
import { SERVER_OPTIONS } from '../../server/options/options.ts'
import type { TracedEvent } from '../../trace/files/traced-event.ts'
import { BaseCommand } from '../base-command.ts'
import { readLocation, storeFlags } from '../store/store-location.ts'
import { describeRun, readEvents, treeOf } from './describe-run.ts'
import { findRun } from './open-reader.ts'
import { openRuns } from './open-runs.ts'

export default class RunsShow extends BaseCommand {
  static override description =
    'Shows one run: input, output, and its calls as a tree, with results of tools and errors, and with the runs of agents that it called.'
  static override examples = ['agent-host runs show 4f1c', 'agent-host runs show 4f1c --json']
  static override args = {
    run_id: Args.string({ description: 'Id of the run, or its first characters', required: true }),
  }
  static override flags = {
    json: Flags.boolean({
      description: 'Print the run with the runs below it, and all their events, as JSON',
      exclusive: ['mermaid'],
    }),
    mermaid: Flags.boolean({ description: 'Print it as a Mermaid sequence diagram' }),
    ...storeFlags([SERVER_OPTIONS.store.flag]),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RunsShow)
    this.requireProject()
    const open = await openRuns(readLocation(flags))
    try {
      const run = findRun(open.reader, args.run_id)
      const { events, elsewhere } = await readEvents(open, run)
      if (elsewhere !== null) this.warn(elsewhere)
      const below = open.reader.index.runs.below(run.run_id)
      if (flags.json) this.printJson({ run, below, events })
      else if (flags.mermaid) this.log(await drawMermaid(events))
      else this.logLines(await describeRun(run, events, below))
    } finally {
      await open.close()
    }
  }
}

async function drawMermaid(events: readonly TracedEvent[]): Promise<string> {
  const { toMermaid } = await import('../../trace/calls/mermaid.ts')
  return toMermaid(await treeOf(events)).trimEnd()
}
