import { useMemo, useState } from 'preact/hooks'
import { Choice } from '../components/choice.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatCount } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { useKeyHint, useMedia } from '../media.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { findPlumbing } from '../traces/plumbing.ts'
import { type LoadedRun, useRun } from '../traces/run-query.ts'
import { EVENT_TYPES, type ServerInfo } from '../types.ts'
import { CallPanel } from './call-panel.tsx'
import { ConversationView } from './conversation.tsx'
import { EventsView } from './events-view.tsx'
import { RunGraph } from './run-graph.tsx'
import { RunHead } from './run-head.tsx'
import { Sequence } from './sequence.tsx'
import { findDecisive } from './trace-rows.ts'
import { TraceView } from './trace-view.tsx'
import { useTape } from './use-tape.ts'

const VIEWS = {
  trace: 'Trace',
  sequence: 'Sequence',
  graph: 'Graph',
  conversation: 'Conversation',
  events: 'Events',
} as const
type View = keyof typeof VIEWS
/** Views with the selected call beside them. */
const BESIDE: ReadonlySet<View> = new Set(['trace', 'sequence', 'events'])
/** In the address where a call would stand: none, although one is decisive. */
const NO_CALL = 'none'
const NO_PLUMBING: ReturnType<typeof findPlumbing> = new Set()
/** Windows in which the panel of a call is a sheet over the page: nobody has asked for it yet. */
const NARROW = '(max-width: 1000px)'

/** One run: its answer, and the calls behind it. */
export function RunScreen({ route, server }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { loaded, error } = useRun(id)
  if (loaded === null) {
    return (
      <Empty isPage title="There is no such run">
        It may have been rotated away with an older trace file. <a href={href(['runs'])}>All runs</a>
      </Empty>
    )
  }
  if (loaded) return <Run loaded={loaded} query={route.query} server={server} />
  return error ? <Notice kind="bad" title="The run could not be read" children={error} /> : null
}

interface RunProps {
  readonly loaded: LoadedRun
  readonly query: Readonly<Record<string, string>>
  readonly server: ServerInfo | undefined
}

function Run({ loaded, query, server }: RunProps) {
  const { run, tree, size } = loaded
  const [filter, setFilter] = useState('')
  const [isOnlyErrors, setOnlyErrors] = useState(false)
  const isNarrow = useMedia(NARROW)
  const view = isView(query.view) ? query.view : 'trace'
  const plumbing = useMemo(() => findPlumbing(tree), [tree, size])
  const decisive = useMemo(() => findDecisive(run.status, tree)?.id, [tree, size, run.status])
  const selected = query.call === NO_CALL ? '' : (query.call ?? decisive ?? '')
  const show = (changed: Record<string, string>) =>
    go(href(['runs', run.run_id], { ...query, ...changed }), { replace: true })
  const select = (call: string) => show({ call: call === selected && query.call !== undefined ? NO_CALL : call })
  // Until somebody chooses a call, the diagram and the events have the full width.
  const call = query.call === undefined && (isNarrow || view !== 'trace') ? undefined : tree.get(selected)
  const isWhole = query.all === '1'
  const hasTape = useTape(run)
  const mayRerun = server?.development === true && server.takes_variants
  return (
    <div class="screen fill">
      <RunHead loaded={loaded} server={server} hasTape={hasTape} />
      <div class="run-bar">
        <Tabs label="Views of the run" titles={VIEWS} selected={view} onSelect={(name: View) => show({ view: name })} />
        <search class="trace-filter">
          {view === 'trace' && <CallFilter filter={filter} onFilter={setFilter} />}
          {view === 'events' && (
            <Choice name="Event" value={query.type} options={EVENT_TYPES} onChange={(type) => show({ type })} />
          )}
          {(view === 'trace' || view === 'sequence') && plumbing.size > 0 && (
            <Check
              title={`All ${formatCount(tree.calls.length)} calls`}
              isChecked={isWhole}
              onChange={(isChecked) => show({ all: isChecked ? '1' : '' })}
            />
          )}
          {view === 'trace' && <Check title="Only errors" isChecked={isOnlyErrors} onChange={setOnlyErrors} />}
        </search>
      </div>
      <SplitPane
        name="run"
        side={
          BESIDE.has(view) &&
          call && <CallPanel run={run} call={call} mayRerun={mayRerun} onClose={() => show({ call: NO_CALL })} />
        }
      >
        <section class="panel run-view" aria-label="Calls of the run">
          <ViewOf
            view={view}
            loaded={loaded}
            plumbing={isWhole ? NO_PLUMBING : plumbing}
            selected={selected}
            isChosen={query.call !== undefined}
            filter={filter}
            isOnlyErrors={isOnlyErrors}
            eventType={query.type}
            onSelect={select}
            onWhole={() => show({ all: '1' })}
          />
        </section>
      </SplitPane>
    </div>
  )
}

function isView(name: string | undefined): name is View {
  return name !== undefined && Object.hasOwn(VIEWS, name)
}

interface ViewOfProps {
  readonly view: View
  readonly loaded: LoadedRun
  /** Calls that are left out. */
  readonly plumbing: ReturnType<typeof findPlumbing>
  readonly selected: string
  /** False for a call that is selected by itself. */
  readonly isChosen: boolean
  readonly filter: string
  readonly isOnlyErrors: boolean
  /** Type of the events that are shown; all when it is left out. */
  readonly eventType: string | undefined
  readonly onSelect: (callId: string) => void
  /** Shows the calls that are left out. */
  readonly onWhole: () => void
}

function ViewOf({ view, loaded, eventType, filter, isOnlyErrors, onWhole, ...shared }: ViewOfProps) {
  const { run, tree, size } = loaded
  switch (view) {
    case 'sequence':
      return <Sequence run={run} tree={tree} size={size} {...shared} />
    case 'graph':
      return <RunGraph loaded={loaded} />
    case 'conversation':
      return <ConversationView run={run} tree={tree} size={size} />
    case 'events':
      return <EventsView tree={tree} size={size} type={eventType} {...shared} />
    default:
      return <TraceView loaded={loaded} filter={filter} isOnlyErrors={isOnlyErrors} onWhole={onWhole} {...shared} />
  }
}

function CallFilter({ filter, onFilter }: { filter: string; onFilter: (filter: string) => void }) {
  useShortcuts({ '/': () => document.getElementById('trace-filter')?.focus() })
  const hint = useKeyHint('Filter calls', '/')
  return (
    <label class="search">
      <Icon name="search" />
      <input
        id="trace-filter"
        type="search"
        placeholder={hint}
        aria-label="Filter calls"
        value={filter}
        onInput={({ currentTarget }) => onFilter(currentTarget.value)}
      />
    </label>
  )
}

interface CheckProps {
  readonly title: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

function Check({ title, isChecked, onChange }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      <span>{title}</span>
    </label>
  )
}
