import { useEffect, useMemo, useState } from 'preact/hooks'
import { Notice } from '../components/notice.tsx'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { isSameDay, plural } from '../format.ts'
import { useInbox } from '../inbox.ts'
import { useShortcuts } from '../keyboard.ts'
import { useLive } from '../live.ts'
import { useMedia } from '../media.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { CompareButton, useChosenRuns } from './choose-runs.tsx'
import { NoRuns } from './no-runs.tsx'
import { RunRow } from './run-row.tsx'
import { listRows, useRuns } from './runs-query.ts'
import { SortHeader } from './sort-header.tsx'

const ROW_HEIGHT = 52
/** Height of a row of three lines, on a phone. */
const HIGH_ROW = 68
/** It stays above the rows. */
const HEADER_HEIGHT = 34
/** Rows before the end at which the next page is read. */
const AHEAD = 20

interface RunListProps {
  readonly query: Readonly<Record<string, string>>
  readonly onChange: (changed: Record<string, string>) => void
  /** Shows the servers that ran them. */
  readonly hasServer: boolean
}

/** Table of the runs of one query. */
export function RunList({ query, onChange, hasServer }: RunListProps) {
  const { listed, fresh, error, isFiltered, loadFirst, loadMore } = useRuns(query)
  const [list, setList] = useState<HTMLDivElement | null>(null)
  const viewport = useViewport(list)
  const rowHeight = useMedia('(max-width: 900px)') ? HIGH_ROW : ROW_HEIGHT
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => listRows(listed?.runs ?? [], open), [listed, open])
  const count = rows.length
  useLive('ready', () => listed && fresh.size === 0 && viewport.top === 0 && loadFirst())
  const isNearEnd = count > 0 && viewport.top + viewport.height > (count - AHEAD) * rowHeight
  // Checked again after each page, since only one page is read at a time.
  useEffect(() => void (isNearEnd && loadMore()), [isNearEnd, listed])
  const move = (event: KeyboardEvent) => moveFocus(event, count, list, rowHeight)
  useShortcuts({
    ArrowDown: move,
    ArrowUp: move,
    PageDown: move,
    PageUp: move,
    Home: move,
    End: move,
    j: move,
    k: move,
  })
  const chosen = useChosenRuns(() => {
    const index = (document.activeElement as HTMLElement | null)?.dataset.index
    return index === undefined ? undefined : rows[Number(index)]?.run.run_id
  })
  const waiting = useWaiting()
  const isByTime = !query.sort || query.sort === 'started_at'
  if (error && !listed) return <Notice kind="bad" title="The runs could not be read" children={error} />
  if (!listed) return null
  if (count === 0) return <NoRuns isFiltered={isFiltered} />
  const toggle = (id: string) => setOpen((before) => toggled(before, id))
  const showFresh = () => {
    list?.scrollTo({ top: 0 })
    loadFirst()
  }
  return (
    <div class="run-list-frame">
      <div class="list-head">
        <span class="muted">{plural(listed.total, 'run')}</span>
        {fresh.size > 0 && (
          <button type="button" class="pill" onClick={showFresh}>
            {plural(fresh.size, 'new run')}
          </button>
        )}
        {count > 1 && <CompareButton chosen={chosen} runs={rows.map(({ run }) => run)} />}
      </div>
      <div
        class="run-list"
        ref={setList}
        data-choosing={chosen.isChoosing}
        data-cost={rows.some(({ run }) => run.cost !== null)}
      >
        <SortHeader sort={query.sort ?? ''} order={query.order ?? ''} onChange={onChange} />
        <div role="list" aria-label="Runs">
          <Rows count={count} rowHeight={rowHeight} viewport={viewport}>
            {(index) => {
              const { run, depth = 0, below = 0 } = rows[index] ?? {}
              const isSelected = run?.run_id === query.run
              const waitsFor = run && waiting.get(run.run_id)
              const before = isByTime ? rows[index - 1]?.run : run
              const isNewDay =
                index > 0 && depth === 0 && before && run && !isSameDay(before.started_at, run.started_at)
              const props = { index, count: listed.total, isSelected, hasServer, waitsFor, isNewDay: isNewDay === true }
              const fold = { depth, below, isOpen: run !== undefined && open.has(run.run_id), onToggle: toggle }
              const choice = chosen.isChoosing && run ? chosen : undefined
              return run && <RunRow key={run.run_id} run={run} {...props} {...fold} choice={choice} />
            }}
          </Rows>
        </div>
      </div>
    </div>
  )
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const others = [...ids].filter((each) => each !== id)
  return new Set(others.length === ids.size ? [...others, id] : others)
}

/** Names of what the waiting runs wait for, by run id. */
function useWaiting(): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { response_id, run_id, kind, name, message } of useInbox().open) {
    const wanted = kind === 'question' ? `an answer: ${message}` : `an approval of ${name}`
    for (const run of new Set([runIdOf(response_id), run_id]))
      names.set(run, names.has(run) ? `${names.get(run)}, ${wanted}` : wanted)
  }
  return names
}

function moveFocus(event: KeyboardEvent, count: number, list: HTMLElement | null, rowHeight: number): void {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    j: 1,
    ArrowUp: -1,
    k: -1,
    PageDown: 10,
    PageUp: -10,
    Home: -count,
    End: count,
  }
  const step = steps[event.key]
  if (step === undefined || !list) return
  const current = Number((document.activeElement as HTMLElement | null)?.dataset.index ?? -1)
  const next = Math.max(0, Math.min(count - 1, current + step))
  const top = next * rowHeight
  if (top < list.scrollTop) list.scrollTop = top
  else if (top + rowHeight > list.scrollTop + list.clientHeight - HEADER_HEIGHT)
    list.scrollTop = top + rowHeight - list.clientHeight + HEADER_HEIGHT
  focusRow(list, next)
}

/** The row may only be there after the list has scrolled. */
function focusRow(list: HTMLElement, index: number, tries = 10): void {
  const row = list.querySelector<HTMLElement>(`[data-index="${index}"]`)
  if (row) row.focus({ preventScroll: true })
  else if (tries > 0) requestAnimationFrame(() => focusRow(list, index, tries - 1))
}
