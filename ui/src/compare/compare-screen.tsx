import { useMemo } from 'preact/hooks'
import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { Icon } from '../components/icon.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { plural } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { useMedia } from '../media.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { findPlumbing } from '../traces/plumbing.ts'
import { type LoadedRun, useRun } from '../traces/run-query.ts'
import { CompareHead } from './compare-head.tsx'
import { CompareList } from './compare-list.tsx'
import { ComparePanel } from './compare-panel.tsx'
import { type ComparedCalls, compareCalls, isDifferent, markTaped } from './compare-runs.ts'

/** Windows in which the panel of a pair is a sheet over the page. */
const NARROW = '(max-width: 1000px)'
/** In the address where a pair would stand. */
const NO_PAIR = 'none'

/** Two runs side by side, aligned by their calls. */
export function CompareScreen({ route: { query } }: ScreenProps) {
  const { left = '', right = '' } = query
  const one = useRun(left, true)
  const other = useRun(right, true)
  if (one.loaded === null || other.loaded === null) {
    return (
      <Empty isPage title={`The ${one.loaded === null ? 'first' : 'second'} run is not there`}>
        It may have been rotated away with an older trace file. <a href={href(['runs'])}>All runs</a>
      </Empty>
    )
  }
  const error = one.error || other.error
  if (one.loaded && other.loaded) return <Compare left={one.loaded} right={other.loaded} query={query} />
  return error ? <Notice kind="bad" title="The runs could not be read" children={error} /> : null
}

interface CompareProps {
  readonly left: LoadedRun
  readonly right: LoadedRun
  readonly query: Readonly<Record<string, string>>
}

function Compare({ left, right, query }: CompareProps) {
  const isNarrow = useMedia(NARROW)
  const pairs = useMemo(() => {
    const compared = compareCalls(listCalls(left.tree), listCalls(right.tree))
    if (right.run.replays === left.run.run_id) return markTaped(compared, 'left')
    return left.run.replays === right.run.run_id ? markTaped(compared, 'right') : compared
  }, [left.tree, left.size, right.tree, right.size])
  const isOnlyDifferent = query.only === '1'
  const shown = useMemo(() => {
    const numbered = pairs.map((pair, index) => ({ pair, index }))
    return isOnlyDifferent ? numbered.filter(({ pair }) => isDifferent(pair)) : numbered
  }, [pairs, isOnlyDifferent])
  const count = useMemo(() => pairs.filter(isDifferent).length, [pairs])
  const first = isNarrow ? -1 : findFirst(pairs)
  const selected = query.pair === undefined ? first : query.pair === NO_PAIR ? -1 : Number(query.pair)
  const show = (changed: Record<string, string>) => go(href(['compare'], { ...query, ...changed }), { replace: true })
  const swap = () => show({ left: right.run.run_id, right: left.run.run_id, pair: '' })
  const showDifferent = () => show({ only: isOnlyDifferent ? '' : '1' })
  useShortcuts({ d: showDifferent, s: swap })
  const pair = pairs[selected]
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1>Compare runs</h1>
        <div class="head-links">
          <button type="button" class="button" onClick={swap} title="Swap the runs (s)">
            <Icon name="loop" />
            <span>Swap</span>
          </button>
        </div>
      </div>
      <CompareHead left={left} right={right} pairs={pairs} />
      <div class="run-bar compare-bar">
        <h2>Calls</h2>
        <span class="muted">{count === 0 ? 'no differences' : plural(count, 'difference')}</span>
        <label class="check" title="Only differences (d)">
          <input type="checkbox" checked={isOnlyDifferent} onChange={showDifferent} />
          <span>Only differences</span>
        </label>
        <span class="muted compare-keys">
          <kbd>n</kbd> <kbd>p</kbd> next and previous difference
        </span>
      </div>
      <SplitPane
        name="compare"
        side={pair && <ComparePanel runs={[left.run, right.run]} pair={pair} onClose={() => show({ pair: NO_PAIR })} />}
      >
        <section class="panel run-view" aria-label="Calls of both runs">
          <CompareList pairs={shown} selected={selected} onSelect={(index) => show({ pair: String(index) })} />
        </section>
      </SplitPane>
    </div>
  )
}

/** The first difference that is not the sum of others: the entry differs wherever a call does. */
function findFirst(pairs: readonly ComparedCalls[]): number {
  const first = pairs.findIndex((pair) => isDifferent(pair) && (pair.left ?? pair.right)?.kind !== 'agent')
  return first === -1 ? pairs.findIndex(isDifferent) : first
}

/** Calls that do the work, each below its caller. */
function listCalls(tree: CallTree): Call[] {
  const plumbing = findPlumbing(tree)
  const calls: Call[] = []
  const rest = [...tree.roots].reverse()
  for (let call = rest.pop(); call; call = rest.pop()) {
    if (plumbing.has(call)) continue
    calls.push(call)
    for (let index = call.children.length - 1; index >= 0; index--) rest.push(call.children[index] as Call)
  }
  return calls
}
