import { fieldsOf } from '../../json.ts'
import { endingOf } from '../../run/run-ending.ts'
import { isWaitingResult, type WaitingResult } from '../../run/waiting/waits-for.ts'
import { shorten } from '../../shorten.ts'
import { readTraceLine } from '../../trace/files/trace-line.ts'
import type { TracedEvent } from '../../trace/files/traced-event.ts'
import type { RunSummary } from '../../trace/run-columns.ts'
import type { ListedRun } from '../../trace/run-index/run-row.ts'
import { formatDuration } from '../../wire/format-duration.ts'
import { oneLine } from '../terminal/one-line.ts'
import { plural } from '../terminal/plural.ts'
import { type CallTexts, formatTree, nameStatus, nameTarget } from './format-run.ts'
import type { OpenRuns } from './open-runs.ts'

const PAGE = 1000

/** Returns all events of a run and of the runs below it; beside none, in words, where they are. */
export async function readEvents(
  open: OpenRuns,
  run: RunSummary,
): Promise<{ events: TracedEvent[]; elsewhere: string | null }> {
  const events: TracedEvent[] = []
  const below: Record<string, number> = {}
  for (let after = -1; ; ) {
    const page = await open.events(run, { runId: run.run_id, after, below, first: PAGE })
    for (const event of page.events) {
      const traced = readTraceLine(event.line)
      if (traced) events.push(traced)
      if (event.below === undefined) after = event.index
      else below[event.below] = event.index
    }
    if (!page.hasMore) return { events, elsewhere: page.elsewhere }
  }
}

export async function treeOf(events: readonly TracedEvent[]) {
  const { CallTree } = await import('../../trace/calls/call-tree.ts')
  const { viewStep } = await import('../../trace/calls/view-step.ts')
  const tree = new CallTree()
  for (const event of events) tree.add(viewStep(event))
  return tree
}

/**
 * Lines that show a run: its facts, and its calls as a tree.
 *
 * @param maxText longest text of arguments or of a result, in characters
 */
export async function describeRun(
  run: RunSummary,
  events: readonly TracedEvent[],
  below: readonly ListedRun[],
  maxText = 60,
): Promise<string[]> {
  const tree = await treeOf(events)
  const tokens =
    run.input_tokens + run.output_tokens > 0 ? `, ${run.input_tokens} tokens in, ${run.output_tokens} out` : ''
  const firstText = run.first_text_ms === null ? '' : `, first text after ${formatDuration(run.first_text_ms)}`
  const counts = `${plural(run.calls, 'call')}, ${plural(run.errors, 'error')}${tokens}`
  return [
    `${nameTarget(run)}  ${run.run_id}${run.server === '' ? '' : `  on ${run.server}`}`,
    `${nameStatus(run.status)}  ${formatDuration(run.duration_ms)}${firstText}  ${counts}`,
    ...describeFacts(run),
    ...below.map((called) => `called        ${called.run_id}  ${nameTarget(called)}, ${nameStatus(called.status)}`),
    ...(run.error === null ? [] : [`error   ${oneLine(run.error)}`]),
    `input   ${oneLine(run.input)}`,
    ...(run.output === '' ? [] : [`output  ${oneLine(run.output)}`]),
    '',
    ...formatTree(tree, textsOf(events, maxText)),
  ]
}

function describeFacts(run: RunSummary): string[] {
  const facts = {
    variant: run.variant,
    incomplete: run.incomplete,
    user: run.user,
    conversation: run.conversation,
    continues: run.continues,
    'continued by': run.continued_by,
    'called by': run.parent_run_id,
  }
  return Object.entries(facts).flatMap(([title, fact]) =>
    fact === null ? [] : [`${title.padEnd(12)}  ${oneLine(fact)}`],
  )
}

function textsOf(events: readonly TracedEvent[], maxText: number): CallTexts {
  const begun = new Map(events.filter(({ event_type }) => event_type === 'call').map((event) => [event.call_id, event]))
  const ended = new Map(events.filter(({ event_type }) => event_type !== 'call').map((event) => [event.call_id, event]))
  const format = (args: readonly unknown[]) =>
    shorten(oneLine(args.map((each) => JSON.stringify(each)).join(', ')), maxText)
  return {
    arguments(calls) {
      const given = calls.map(({ id }) => ownArguments(begun.get(id)))
      const [first = []] = given
      if (calls[0]?.method === 'executeTool') return ` ${oneLine(String(first[0]))}(${format(first.slice(1))})`
      // The pieces of an answer are one text.
      const args = calls.length > 1 ? [given.map(([text]) => text).join('')] : first
      return `(${format(args)})`
    },
    outcome({ id, method }) {
      const end = ended.get(id)
      if (end?.exception) return ` → ${shorten(oneLine(end.exception.split('\n')[0] ?? ''), maxText)}`
      if (isWaitingResult(end?.result)) return ` → ${describeWaiting(end.result)}`
      if (method !== 'executeTool' || !end) return ''
      const { text, isError } = fieldsOf(end.result)
      return ` → ${isError ? 'failed: ' : ''}${shorten(oneLine(String(text ?? '')), maxText)}`
    },
  }
}

function describeWaiting({ waits_for }: WaitingResult): string {
  return nameStatus(endingOf({ status: 'waiting', pending: waits_for }))
}

/** Without the run, which is the same everywhere. */
function ownArguments(event: TracedEvent | undefined): unknown[] {
  const args = event?.arguments?.args ?? []
  return args.filter((each) => typeof fieldsOf(each).run !== 'string')
}
