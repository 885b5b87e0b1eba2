import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { useShortcuts } from '../keyboard.ts'
import { go, href } from '../router.ts'
import type { RunSummary } from '../types.ts'

/** Runs that are chosen to be compared: two at most. */
export interface ChosenRuns {
  readonly isChoosing: boolean
  readonly ids: readonly string[]
  readonly toggle: (runId: string) => void
  readonly begin: () => void
  readonly end: () => void
}

/** @param focusedRun id of the row that has the focus: `x` chooses it */
export function useChosenRuns(focusedRun: () => string | undefined): ChosenRuns {
  const [ids, setIds] = useState<readonly string[]>()
  const toggle = (id: string) =>
    setIds((before = []) => (before.includes(id) ? before.filter((each) => each !== id) : [...before, id].slice(-2)))
  const end = () => setIds(undefined)
  useShortcuts({
    x: () => {
      const id = focusedRun()
      if (id !== undefined) toggle(id)
    },
    ...(ids ? { Escape: end } : {}),
  })
  return { isChoosing: ids !== undefined, ids: ids ?? [], toggle, begin: () => setIds([]), end }
}

interface CompareButtonProps {
  readonly chosen: ChosenRuns
  /** Those that are listed. */
  readonly runs: readonly RunSummary[]
}

/** Button that begins to choose runs, and afterwards compares them. */
export function CompareButton({ chosen: { isChoosing, ids, begin, end }, runs }: CompareButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const isReady = ids.length === 2
  // Enter then compares: the second was chosen by its key or its box. Before it is painted, or a quick Enter opened the row.
  useLayoutEffect(() => {
    if (isReady) button.current?.focus()
  }, [isReady])
  if (!isChoosing) {
    return (
      <button type="button" class="button choose-runs" onClick={begin} title="Compare two runs (x on each)">
        <Icon name="compare" />
        <span>Compare</span>
      </button>
    )
  }
  const [left, right] = runs
    .filter(({ run_id: id }) => ids.includes(id))
    .toSorted((one, other) => one.started_at - other.started_at)
  return (
    <span class="choose-runs">
      <span class="muted" role="status">
        {isReady ? 'Two runs are chosen.' : `Choose ${ids.length === 0 ? 'two runs' : 'another run'}.`}
      </span>
      <button type="button" class="button" onClick={end}>
        Cancel
      </button>
      <button
        type="button"
        class="button primary"
        ref={button}
        disabled={!isReady}
        onClick={() => go(href(['compare'], { left: left?.run_id, right: right?.run_id }))}
      >
        <Icon name="compare" />
        <span>Compare</span>
      </button>
    </span>
  )
}
