import { useState } from 'preact/hooks'
import { Choice } from '../components/choice.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { Tabs } from '../components/tabs.tsx'
import { plural } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { EVENT_TYPES, type ServerFacts } from '../types.ts'
import { CallPanel } from './call-panel.tsx'
import { ConversationView } from './conversation.tsx'
import { EventsView } from './events-view.tsx'
import { RunHead } from './run-head.tsx'
import { type LoadedRun, useRun } from './run-query.ts'
import { Sequence } from './sequence.tsx'
import { findFailure } from './trace-rows.ts'
import { TraceView } from './trace-view.tsx'

type View = 'trace' | 'sequence' | 'conversation' | 'events'
const VIEWS = [
  { name: 'trace', title: 'Trace' },
  { name: 'sequence', title: 'Sequence' },
  { name: 'conversation', title: 'Conversation' },
  { name: 'events', title: 'Events' },
] as const
/** In the address where a call would stand: none, although one failed. */
const NO_CALL = 'none'

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
  readonly server: ServerFacts | undefined
}

function Run({ loaded, query, server }: RunProps) {
  const { run, tree } = loaded
  const [filter, setFilter] = useState('')
  const [isOnlyErrors, setOnlyErrors] = useState(false)
  const view = VIEWS.find(({ name }) => name === query.view)?.name ?? 'trace'
  const failure = run.status === 'failed' ? findFailure(tree)?.id : undefined
  const selected = query.call === NO_CALL ? '' : (query.call ?? failure ?? '')
  const show = (changed: Record<string, string>) =>
    go(href(['runs', run.run_id], { ...query, ...changed }), { replace: true })
  const select = (call: string) => show({ call: call === selected ? NO_CALL : call })
  const call = tree.get(selected)
  return (
    <div class="screen fill">
      <RunHead loaded={loaded} server={server} />
      <div class="run-bar">
        <Tabs label="Views of the run" tabs={VIEWS} selected={view} onSelect={(name: View) => show({ view: name })} />
        {view === 'trace' && (
          <TraceFilter filter={filter} isOnlyErrors={isOnlyErrors} onFilter={setFilter} onOnlyErrors={setOnlyErrors} />
        )}
        {view === 'events' && (
          <search class="trace-filter">
            <Choice name="Event" value={query.type} options={EVENT_TYPES} onChange={(type) => show({ type })} />
          </search>
        )}
      </div>
      <SplitPane name="run" side={call && <CallPanel run={run} call={call} onClose={() => show({ call: NO_CALL })} />}>
        <section class="panel run-view" aria-label={`${plural(run.calls, 'call')} of the run`}>
          <ViewOf
            view={view}
            loaded={loaded}
            selected={selected}
            filter={filter}
            isOnlyErrors={isOnlyErrors}
            eventType={query.type}
            onSelect={select}
          />
        </section>
      </SplitPane>
    </div>
  )
}

interface ViewOfProps {
  readonly view: View
  readonly loaded: LoadedRun
  readonly selected: string
  readonly filter: string
  readonly isOnlyErrors: boolean
  /** Type of the events that are shown; all when it is left out. */
  readonly eventType: string | undefined
  readonly onSelect: (callId: string) => void
}

function ViewOf({ view, loaded, selected, filter, isOnlyErrors, eventType, onSelect }: ViewOfProps) {
  const { run, tree, size } = loaded
  switch (view) {
    case 'sequence':
      return <Sequence run={run} tree={tree} size={size} selected={selected} onSelect={onSelect} />
    case 'conversation':
      return <ConversationView run={run} entryCall={tree.roots[0]?.id ?? ''} size={size} />
    case 'events':
      return <EventsView tree={tree} size={size} type={eventType} selected={selected} onSelect={onSelect} />
    default:
      return (
        <TraceView
          loaded={loaded}
          selected={selected}
          filter={filter}
          isOnlyErrors={isOnlyErrors}
          onSelect={onSelect}
        />
      )
  }
}

interface TraceFilterProps {
  readonly filter: string
  readonly isOnlyErrors: boolean
  readonly onFilter: (filter: string) => void
  readonly onOnlyErrors: (isOnlyErrors: boolean) => void
}

function TraceFilter({ filter, isOnlyErrors, onFilter, onOnlyErrors }: TraceFilterProps) {
  useShortcuts({ '/': () => document.getElementById('trace-filter')?.focus() })
  return (
    <search class="trace-filter">
      <label class="search">
        <Icon name="search" />
        <input
          id="trace-filter"
          type="search"
          placeholder="Filter calls ( / )"
          aria-label="Filter calls"
          value={filter}
          onInput={({ currentTarget }) => onFilter(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isOnlyErrors}
          onChange={({ currentTarget }) => onOnlyErrors(currentTarget.checked)}
        />
        <span>Only errors</span>
      </label>
    </search>
  )
}
