import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask, useQuery } from '../api.ts'
import { Choice } from '../components/choice.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { Status } from '../components/status.tsx'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { formatCount, formatDuration, formatTime, plural } from '../format.ts'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { RUN_FIELDS, type RunSummary } from '../types.ts'

const PAGE = 100
const ROW_HEIGHT = 56
const STATUSES = ['running', 'completed', 'waiting', 'failed', 'cancelled', 'interrupted']
const QUERY = `query($filter: RunFilter, $after: String) {
  runs(filter: $filter, first: ${PAGE}, after: $after) { total cursor runs { ${RUN_FIELDS} } }
}`

interface Page {
  readonly runs: { readonly total: number; readonly cursor: string | null; readonly runs: readonly RunSummary[] }
}

/** What the address says of the list, by the names of the filter of the API. */
const FILTERS: Readonly<Record<string, string>> = {
  agent: 'agent_id',
  entry: 'entry_point',
  status: 'status',
  type: 'event_type',
  module: 'module_id',
  method: 'method_name',
  text: 'text',
  since: 'since',
  until: 'until',
}

function readFilter(query: Readonly<Record<string, string>>): Record<string, string | number> {
  const given = Object.entries(FILTERS).filter(([name]) => query[name])
  return Object.fromEntries(
    given.map(([name, field]) => {
      const value = query[name] ?? ''
      return [field, name === 'since' || name === 'until' ? Number(value) : value]
    }),
  )
}

export function RunsScreen({ route }: ScreenProps) {
  const { query } = route
  // The query of the moment: what is typed is taken over a little later, and another field may have changed by then.
  const change = (changed: Record<string, string>) =>
    go(href(['runs'], { ...currentQuery(), ...changed }), { replace: true })
  const key = JSON.stringify(readFilter(query))
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1>Runs</h1>
      </div>
      <Filters query={query} onChange={change} />
      <RunList key={key} query={query} />
    </div>
  )
}

interface FiltersProps {
  readonly query: Readonly<Record<string, string>>
  readonly onChange: (changed: Record<string, string>) => void
}

function Filters({ query, onChange }: FiltersProps) {
  const { data } = useQuery<{ list_agents: { id: string; modules: { id: string }[] }[] }>(
    '{ list_agents { id modules { id } } }',
  )
  const agents = data?.list_agents ?? []
  const chosen = agents.filter(({ id }) => !query.agent || id === query.agent)
  const modules = [...new Set(chosen.flatMap(({ modules }) => modules.map(({ id }) => id)))].slice(0, 200)
  const isFiltered = Object.keys(FILTERS).some((name) => query[name])
  const clear = () => onChange(Object.fromEntries(Object.keys(FILTERS).map((name) => [name, ''])))
  return (
    <search class="filters" aria-label="Filter runs">
      <Choice
        name="Agent"
        value={query.agent}
        options={agents.map(({ id }) => id)}
        onChange={(agent) => onChange({ agent, module: '' })}
      />
      <Choice name="Status" value={query.status} options={STATUSES} onChange={(status) => onChange({ status })} />
      <Choice name="Event" value={query.type} options={['exception']} onChange={(type) => onChange({ type })} />
      <Choice name="Module" value={query.module} options={modules} onChange={(module) => onChange({ module })} />
      <Typed name="Method" value={query.method} onChange={(method) => onChange({ method })} />
      <Typed name="Text" value={query.text} onChange={(text) => onChange({ text })} />
      {query.since && (
        <span class="badge">
          {formatTime(Number(query.since))} to {query.until ? formatTime(Number(query.until)) : 'now'}
        </span>
      )}
      {isFiltered && (
        <button type="button" class="link" onClick={clear}>
          Clear
        </button>
      )}
    </search>
  )
}

interface TypedProps {
  readonly name: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}

function Typed({ name, value = '', onChange }: TypedProps) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const later = (text: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onChange(text), 250)
  }
  return (
    <label class="field">
      <span class="hidden">{name}</span>
      <input
        type="search"
        placeholder={name}
        value={value}
        onInput={({ currentTarget }) => later(currentTarget.value)}
      />
    </label>
  )
}

/** The list of one filter. New rows wait until they are asked for: what is looked at never moves. */
function RunList({ query }: { query: Readonly<Record<string, string>> }) {
  const filter = useMemo(() => readFilter(query), [])
  const [runs, setRuns] = useState<readonly RunSummary[]>()
  const [total, setTotal] = useState(0)
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const [error, setError] = useState('')
  const cursor = useRef<string | null>(null)
  const isLoading = useRef(false)
  const list = useRef<HTMLDivElement>(null)
  const viewport = useViewport(list)

  const load = async (after: string | null) => {
    if (isLoading.current) return
    isLoading.current = true
    try {
      const page = (await ask<Page>(QUERY, { filter, after })).runs
      cursor.current = page.cursor
      setTotal(page.total)
      setRuns((before) => (after === null ? page.runs : [...(before ?? []), ...page.runs]))
      if (after === null) setFresh(new Set())
      setError('')
    } catch (failure) {
      setError((failure as Error).message)
    } finally {
      isLoading.current = false
    }
  }
  useEffect(() => void load(null), [])
  useLive('ready', () => runs && fresh.size === 0 && viewport.top === 0 && void load(null))
  useLive('runs', (changed) => {
    const byId = new Map(changed.map((run) => [run.run_id, run]))
    setRuns((before) => before?.map((run) => byId.get(run.run_id) ?? run))
    const known = new Set(runs?.map(({ run_id }) => run_id))
    const unknown = changed.filter((run) => !known.has(run.run_id) && mayFit(run, filter))
    // The first rows of an empty list disturb nobody.
    if (unknown.length > 0 && runs?.length === 0) void load(null)
    else if (unknown.length > 0) setFresh((before) => new Set([...before, ...unknown.map(({ run_id }) => run_id)]))
  })
  const isNearEnd = runs !== undefined && viewport.top + viewport.height > (runs.length - 20) * ROW_HEIGHT
  useEffect(() => {
    if (isNearEnd && cursor.current !== null) void load(cursor.current)
  }, [isNearEnd, runs?.length])

  const showFresh = () => {
    list.current?.scrollTo({ top: 0 })
    void load(null)
  }
  if (error && !runs)
    return (
      <Notice kind="bad" title="The runs could not be read">
        {error}
      </Notice>
    )
  if (!runs) return null
  if (runs.length === 0) return <NoRuns isFiltered={Object.keys(filter).length > 0} />
  return (
    <div class="run-list-frame">
      <div class="list-head">
        <span class="muted">{plural(total, 'run')}</span>
        {fresh.size > 0 && (
          <button type="button" class="pill" onClick={showFresh}>
            {plural(fresh.size, 'new run')}
          </button>
        )}
      </div>
      <div
        class="run-list"
        ref={list}
        role="list"
        aria-label="Runs"
        onKeyDown={(event) => moveFocus(event, runs.length, list.current)}
      >
        <Rows count={runs.length} rowHeight={ROW_HEIGHT} viewport={viewport}>
          {(index) => {
            const run = runs[index]
            return (
              run && (
                <RunRow key={run.run_id} run={run} index={index} count={total} isSelected={run.run_id === query.run} />
              )
            )
          }}
        </Rows>
      </div>
    </div>
  )
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No run fits these filters">Clear them, or choose another agent or status.</Empty>
  return (
    <Empty title="No run yet">
      Every call of an agent appears here while it happens. <a href={href(['play'])}>Ask one in the playground</a>, or
      through the API.
    </Empty>
  )
}

/** Whether a run may belong to the list: what only the server can tell counts as fitting. */
function mayFit(run: RunSummary, filter: Readonly<Record<string, string | number>>): boolean {
  return (
    (filter.agent_id === undefined || run.agent_id === filter.agent_id) &&
    (filter.entry_point === undefined || run.entry_point === filter.entry_point) &&
    (filter.status === undefined || run.status === filter.status) &&
    (filter.event_type !== 'exception' || run.errors > 0) &&
    (filter.until === undefined || run.started_at < Number(filter.until)) &&
    (filter.since === undefined || run.started_at >= Number(filter.since))
  )
}

function moveFocus(event: KeyboardEvent, count: number, list: HTMLElement | null): void {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: 10,
    PageUp: -10,
    Home: -count,
    End: count,
  }
  const step = steps[event.key]
  if (step === undefined || !list) return
  event.preventDefault()
  const current = Number((document.activeElement as HTMLElement | null)?.dataset.index ?? -1)
  const next = Math.max(0, Math.min(count - 1, current + step))
  const top = next * ROW_HEIGHT
  if (top < list.scrollTop) list.scrollTop = top
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight
  // The row may only be there after the list has scrolled.
  const focus = (tries: number) => {
    const row = list.querySelector<HTMLElement>(`[data-index="${next}"]`)
    if (row) row.focus({ preventScroll: true })
    else if (tries > 0) requestAnimationFrame(() => focus(tries - 1))
  }
  focus(10)
}

interface RunRowProps {
  readonly run: RunSummary
  readonly index: number
  readonly count: number
  readonly isSelected: boolean
}

function RunRow({ run, index, count, isSelected }: RunRowProps) {
  const remember = () => go(href(['runs'], { ...currentQuery(), run: run.run_id }), { replace: true })
  return (
    <div role="listitem" class="run-item" aria-setsize={count} aria-posinset={index + 1}>
      <a
        class="run-row"
        href={href(['runs', run.run_id])}
        data-index={index}
        data-selected={isSelected}
        onClick={remember}
      >
        <Status status={run.status} />
        <span class="run-agent">
          {run.agent_id}
          {run.entry_point !== '__entry__' && <span class="muted">/{run.entry_point}</span>}
        </span>
        <span class="run-text">
          <span class="run-input">{run.input || <span class="muted">–</span>}</span>
          {run.error ? (
            <span class="run-output bad-text">{run.error}</span>
          ) : (
            <span class="run-output muted">{run.output}</span>
          )}
        </span>
        <span class="run-facts">
          <span>{formatDuration(run.duration_ms)}</span>
          <span class="muted">
            {formatCount(run.calls)} calls
            {run.errors > 0 && <span class="bad-text"> · {plural(run.errors, 'error')}</span>}
          </span>
        </span>
        <time class="run-time muted" dateTime={new Date(run.started_at * 1000).toISOString()}>
          {formatTime(run.started_at)}
        </time>
      </a>
    </div>
  )
}

function currentQuery(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? ''))
}
