import { Args, Flags } from '@oclif/core'
import type { AgentEvent } from '../../run/call-event.ts'
import type { Call } from '../../trace/call-tree.ts'
import type { RunSummary } from '../../trace/run-summary.ts'
import { readTraceLine } from '../../trace/trace-line.ts'
import type { TraceReader } from '../../trace/trace-reader.ts'
import { BaseCommand } from '../base-command.ts'
import { formatMs, formatTree, nameTarget, oneLine } from './format-run.ts'
import { findRun, openReader } from './open-reader.ts'

const PAGE = 1000
const MAX_TEXT = 60

export default class RunsShow extends BaseCommand {
  static override description = 'Shows one run: what was asked and answered, and its calls as a tree.'
  static override examples = ['<%= config.bin %> runs show 4f1c', '<%= config.bin %> runs show 4f1c --json']
  static override args = {
    run_id: Args.string({ description: 'Id of the run, or as much of its beginning as is clear', required: true }),
  }
  static override flags = {
    json: Flags.boolean({ description: 'Print the run with all its events as JSON', exclusive: ['mermaid'] }),
    mermaid: Flags.boolean({ description: 'Print it as a Mermaid sequence diagram' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RunsShow)
    this.requireProject()
    const reader = await openReader()
    try {
      const run = findRun(reader, args.run_id)
      const events = readEvents(reader, run.run_id)
      if (flags.json) this.log(JSON.stringify({ run, events }, null, 2))
      else if (flags.mermaid) this.log(await drawMermaid(events))
      else for (const line of await describeRun(run, events)) this.log(line)
    } finally {
      reader.close()
    }
  }
}

function readEvents(reader: TraceReader, runId: string): AgentEvent[] {
  const events: AgentEvent[] = []
  for (let after = -1, isMore = true; isMore; ) {
    const page = reader.events({ runId, after, first: PAGE })
    events.push(...page.events.flatMap(({ line }) => readTraceLine(line) ?? []))
    after = page.events.at(-1)?.index ?? after
    isMore = page.hasMore
  }
  return events
}

async function treeOf(events: readonly AgentEvent[]) {
  const { CallTree } = await import('../../trace/call-tree.ts')
  const { viewStep } = await import('../../trace/view-step.ts')
  const tree = new CallTree()
  for (const event of events) tree.add(viewStep(event))
  return tree
}

async function drawMermaid(events: readonly AgentEvent[]): Promise<string> {
  const { toMermaid } = await import('../../trace/mermaid.ts')
  return toMermaid(await treeOf(events)).trimEnd()
}

async function describeRun(run: RunSummary, events: readonly AgentEvent[]): Promise<string[]> {
  const given = new Map(events.filter(({ event_type }) => event_type === 'call').map((event) => [event.call_id, event]))
  const tree = await treeOf(events)
  const tokens =
    run.input_tokens + run.output_tokens > 0 ? `, ${run.input_tokens} tokens in, ${run.output_tokens} out` : ''
  const firstText = run.first_text_ms === null ? '' : `, first text after ${formatMs(run.first_text_ms)}`
  return [
    `${nameTarget(run)}  ${run.run_id}`,
    `${run.status}  ${formatMs(run.duration_ms)}${firstText}  ${run.calls} calls, ${run.errors} errors${tokens}`,
    ...(run.error === null ? [] : [`error   ${oneLine(run.error)}`]),
    `asked   ${oneLine(run.input)}`,
    ...(run.output === '' ? [] : [`said    ${oneLine(run.output)}`]),
    '',
    ...formatTree(tree, (call) => describeCall(call, given)),
  ]
}

/** The method with its tool, or with its arguments, without the run, which is the same everywhere. */
function describeCall({ id, method, label }: Call, given: ReadonlyMap<string, AgentEvent>): string {
  if (method === 'executeTool' && label !== undefined) return `${method} ${oneLine(label)}`
  const args = given.get(id)?.arguments?.args ?? []
  const own = args.filter((each) => typeof (each as { run?: unknown } | null)?.run !== 'string')
  const text = oneLine(own.map((each) => JSON.stringify(each)).join(', '))
  return `${method}(${text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text})`
}
