import { useEffect, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { formatTokens } from '../format.ts'
import { useFocus, useShortcuts } from '../keyboard.ts'
import { nameCall } from '../run/trace-rows.ts'
import { type ComparedCalls, type Difference, isDifferent } from './compare-runs.ts'

const ROW_HEIGHT = 30
/** Deeper calls are indented no further. */
const MAX_INDENT = 8

/** A pair with its number among all of the two runs. */
export interface ShownPair {
  readonly pair: ComparedCalls
  readonly index: number
}

interface CompareListProps {
  readonly pairs: readonly ShownPair[]
  /** Number of the selected pair; -1 for none. */
  readonly selected: number
  readonly onSelect: (index: number) => void
}

/** The calls of two runs, side by side. */
export function CompareList({ pairs, selected, onSelect }: CompareListProps) {
  const [place, setPlace] = useState<HTMLDivElement | null>(null)
  const viewport = useViewport(place)
  useFocus(place)
  const at = pairs.findIndex(({ index }) => index === selected)
  useEffect(() => {
    if (!place || at < 0) return
    const top = at * ROW_HEIGHT
    if (top < place.scrollTop || top + ROW_HEIGHT > place.scrollTop + place.clientHeight)
      place.scrollTop = top - place.clientHeight / 2
  }, [at, place])
  const go = (to: number) => {
    const next = pairs[Math.max(0, Math.min(pairs.length - 1, to))]
    if (next) onSelect(next.index)
  }
  const goToDifference = (step: 1 | -1) => {
    for (let to = at + step; to >= 0 && to < pairs.length; to += step) {
      const shown = pairs[to]
      if (shown && isDifferent(shown.pair)) return onSelect(shown.index)
    }
  }
  const [down, up] = [() => go(at + 1), () => go(at - 1)]
  useShortcuts({
    ArrowDown: down,
    j: down,
    ArrowUp: up,
    k: up,
    Home: () => go(0),
    End: () => go(pairs.length - 1),
    n: () => goToDifference(1),
    p: () => goToDifference(-1),
  })
  return (
    <div
      class="compare-list"
      ref={setPlace}
      role="listbox"
      aria-label="Calls side by side"
      aria-activedescendant={at < 0 ? undefined : `pair-${selected}`}
      tabIndex={0}
    >
      {pairs.length === 0 && <p class="muted compare-none">No differences in the calls.</p>}
      <Rows count={pairs.length} rowHeight={ROW_HEIGHT} viewport={viewport}>
        {(row) => {
          const shown = pairs[row]
          return (
            shown && (
              <Row
                shown={shown}
                place={row + 1}
                count={pairs.length}
                isSelected={shown.index === selected}
                onSelect={onSelect}
              />
            )
          )
        }}
      </Rows>
    </div>
  )
}

interface RowProps {
  readonly shown: ShownPair
  readonly place: number
  readonly count: number
  readonly isSelected: boolean
  readonly onSelect: (index: number) => void
}

function Row({ shown: { pair, index }, place, count, isSelected, onSelect }: RowProps) {
  const { left, right } = pair
  const mark = describe(pair)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list around it has the keys
    <div
      id={`pair-${index}`}
      class="compare-row"
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      aria-setsize={count}
      aria-posinset={place}
      data-selected={isSelected}
      data-state={pair.isTaped ? 'same' : !left ? 'added' : !right ? 'removed' : mark === '' ? 'same' : 'changed'}
      onClick={() => onSelect(index)}
    >
      <Side call={left} other={right} />
      <span class="compare-mark">{mark}</span>
      <Side call={right} other={left} />
    </div>
  )
}

const WORDS: Readonly<Record<Difference, string>> = { asked: 'asked', given: 'result', state: 'state' }

/** Differences in words: no colour alone says it. */
function describe({ left, right, differs, isTaped }: ComparedCalls): string {
  if (isTaped) return 'tape'
  if (!left) return 'only 2nd'
  if (!right) return 'only 1st'
  return differs.map((difference) => WORDS[difference]).join(', ')
}

function Side({ call, other }: { call: Call | undefined; other: Call | undefined }) {
  if (!call) return <span class="compare-call muted">–</span>
  const tokens = call.usage ? formatTokens(call.usage) : ''
  return (
    <span class={`compare-call kind-${call.kind} ${call.status}`}>
      <span class="compare-name" style={{ '--depth': String(Math.min(call.depth, MAX_INDENT)) }}>
        <Icon name={`kind-${call.kind}` as IconName} />
        <span class="compare-label">
          {call.status === 'failed' && <span class="bad-text">✕ </span>}
          {nameCall(call).name}
          {tokens && <span class="muted"> {tokens}</span>}
        </span>
      </span>
      <span class="compare-time">
        <Slower call={call} other={other} />
        {formatDuration(call.durationMs)}
      </span>
    </span>
  )
}

/** Times that only clocks tell apart are not marked. */
const NOTICEABLE_MS = 20
const NOTICEABLE_FACTOR = 1.5

function Slower({ call, other }: { call: Call; other: Call | undefined }) {
  const [own = 0, others = 0] = [call.durationMs, other?.durationMs]
  const isSlower = other !== undefined && own - others > NOTICEABLE_MS && own > others * NOTICEABLE_FACTOR
  return isSlower ? (
    <span class="warn-text" title="slower">
      ▲{' '}
    </span>
  ) : null
}
