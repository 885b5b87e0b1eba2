import { useEffect, useRef, useState } from 'preact/hooks'
import { CallTree } from '../../../src/trace/call-tree.ts'
import { toMermaid } from '../../../src/trace/mermaid.ts'
import { ask } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Figure } from '../components/figure.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { Status } from '../components/status.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatCount, formatDuration, formatTime, plural } from '../format.ts'
import { useLive, useThrottled } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { EVENT_FIELDS, type EventFacts, RUN_FIELDS, type RunSummary } from '../types.ts'
import { CallDetails } from './call-details.tsx'
import { ConversationView } from './conversation.tsx'
import { Sequence } from './sequence.tsx'
import { Waterfall } from './waterfall.tsx'

const PAGE = 5000
const QUERY = `query($id: String!, $after: String) { run(run_id: $id) {
  ${RUN_FIELDS} events(first: ${PAGE}, after: $after) { cursor has_more events { ${EVENT_FIELDS} } }
} }`

interface Answer {
  readonly run:
    | (RunSummary & {
        readonly events: {
          readonly cursor: string | null
          readonly has_more: boolean
          readonly events: readonly EventFacts[]
        }
      })
    | null
}

type View = 'sequence' | 'waterfall' | 'conversation'
const VIEWS = [
  { name: 'sequence', title: 'Sequence' },
  { name: 'waterfall', title: 'Waterfall' },
  { name: 'conversation', title: 'Conversation' },
] as const

interface Loaded {
  readonly run: RunSummary
  readonly tree: CallTree
  readonly size: number
}

/** Reads a run, and reads on while it goes on. `null`: there is no such run. */
function useRun(id: string): { loaded: Loaded | null | undefined; error: string } {
  const [loaded, setLoaded] = useState<Loaded | null>()
  const [error, setError] = useState('')
  const state = useRef<
    { id: string; tree: CallTree; cursor: string | null; isReading: boolean; isStale: boolean } | undefined
  >(undefined)
  const readOn = async () => {
    const mine = state.current
    if (!mine || mine.isReading) {
      if (mine) mine.isStale = true
      return
    }
    mine.isReading = true
    try {
      for (let isMore = true; isMore; ) {
        mine.isStale = false
        const { run } = await ask<Answer>(QUERY, { id: mine.id, after: mine.cursor })
        if (state.current !== mine) return
        if (!run) return setLoaded(null)
        const { events: page, ...summary } = run
        for (const event of page.events) mine.tree.add(event)
        mine.cursor = page.cursor
        isMore = page.has_more || mine.isStale
        setLoaded({ run: summary, tree: mine.tree, size: mine.tree.size })
      }
      setError('')
    } catch (failure) {
      setError((failure as Error).message)
    } finally {
      mine.isReading = false
    }
  }
  useEffect(() => {
    state.current = { id, tree: new CallTree(), cursor: null, isReading: false, isStale: false }
    setLoaded(undefined)
    void readOn()
  }, [id])
  const readSoon = useThrottled(() => void readOn(), 150)
  useLive('runs', (runs) => runs.some(({ run_id }) => run_id === id) && readSoon())
  useLive('ready', readSoon)
  return { loaded, error }
}

export function RunScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { loaded, error } = useRun(id)
  if (loaded === null) {
    return (
      <Empty isPage title="There is no such run">
        It may have been rotated away with an older trace file. <a href={href(['runs'])}>All runs</a>
      </Empty>
    )
  }
  if (!loaded)
    return error ? (
      <Notice kind="bad" title="The run could not be read">
        {error}
      </Notice>
    ) : null
  const { run, tree, size } = loaded
  const view = VIEWS.find(({ name }) => name === route.query.view)?.name ?? 'sequence'
  const selected = route.query.call ?? ''
  const show = (query: Record<string, string>) =>
    go(href(['runs', id], { ...route.query, ...query }), { replace: true })
  const select = (call: string) => show({ call: call === selected ? '' : call })
  const call = tree.get(selected)
  const entryCall = tree.roots[0]?.id ?? ''
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1 class="run-title">
          <a href={href(['agents', run.agent_id])}>{run.agent_id}</a>
          {run.entry_point !== '__entry__' && <span class="muted">/{run.entry_point}</span>}
        </h1>
        <Status status={run.status} />
        <span class="muted">{formatTime(run.started_at)}</span>
        <span class="head-links">
          <CopyButton text={() => toMermaid(tree)} label="Copy as Mermaid" />
          <button type="button" class="button" onClick={() => void exportRun(run)}>
            <Icon name="download" />
            <span>Export</span>
          </button>
        </span>
      </div>
      <dl class="figures wide">
        <Figure name="Duration" value={formatDuration(run.duration_ms)} />
        <Figure name="First text" value={formatDuration(run.first_text_ms)} />
        <Figure name="Calls" value={formatCount(run.calls)} />
        <Figure name="Errors" value={formatCount(run.errors)} isBad={run.errors > 0} />
        <Figure name="Tokens" value={`${formatCount(run.input_tokens)} in, ${formatCount(run.output_tokens)} out`} />
      </dl>
      {run.error && run.status === 'failed' && <Notice kind="bad" title={run.error} />}
      <Tabs label="Views of the run" tabs={VIEWS} selected={view} onSelect={(name: View) => show({ view: name })} />
      <div class="split fill" data-open={call !== undefined}>
        <section class="panel run-view" aria-label={`${plural(run.calls, 'call')} of the run`}>
          {view === 'sequence' && <Sequence tree={tree} size={size} selected={selected} onSelect={select} />}
          {view === 'waterfall' && (
            <Waterfall
              tree={tree}
              size={size}
              startedAt={run.started_at}
              durationMs={run.duration_ms}
              firstTextMs={run.first_text_ms}
              selected={selected}
              onSelect={select}
            />
          )}
          {view === 'conversation' && <ConversationView run={run} entryCall={entryCall} size={size} />}
        </section>
        {call && (
          <CallDetails
            runId={id}
            agentId={run.agent_id}
            call={call}
            runStartedAt={run.started_at}
            onClose={() => show({ call: '' })}
          />
        )}
      </div>
    </div>
  )
}

const EXPORT_QUERY = `query($id: String!, $after: String) { run(run_id: $id) { events(first: 1000, after: $after) { cursor has_more events {
  agent_id event_name event_type module_id module_class method_name time call_id caller_id arguments result exception
  run_id parent_call_id entry_point duration_ms
} } } }`

interface ExportPage {
  readonly run: {
    readonly events: { readonly cursor: string | null; readonly has_more: boolean; readonly events: readonly object[] }
  } | null
}

/** The run as JSON lines, as they stand in the trace file. */
async function exportRun({ run_id: id, agent_id }: RunSummary): Promise<void> {
  const lines: string[] = []
  let after: string | null = null
  for (let isMore = true; isMore; ) {
    const { run }: ExportPage = await ask<ExportPage>(EXPORT_QUERY, { id, after })
    lines.push(...(run?.events.events ?? []).map((event) => JSON.stringify(event)))
    after = run?.events.cursor ?? null
    isMore = run?.events.has_more ?? false
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'application/jsonl' }))
  link.download = `${agent_id}-${id}.jsonl`
  link.click()
  URL.revokeObjectURL(link.href)
}
