import type { Call, CallTree } from '../../../src/trace/call-tree.ts'

/** Repetitions of what a module calls in turn are folded from here on. */
const MIN_REPEATS = 4
/** How many calls one repetition may have. */
const MAX_PERIOD = 20

export const LANE = 10
export const HEAD_HEIGHT = 44
const CALL_HEIGHT = 30
const RETURN_HEIGHT = 22
const FOLD_HEIGHT = 34
const MIN_COLUMN = 120

/** A line of the diagram. `y` is its middle, in pixels below the heads. */
export type SequenceRow =
  | {
      readonly kind: 'call' | 'return'
      readonly y: number
      readonly call: Call
      readonly from: number
      readonly to: number
    }
  | { readonly kind: 'fold'; readonly y: number; readonly fold: Fold; readonly from: number; readonly to: number }

/** Repetitions that are not shown one by one. */
export interface Fold {
  /** Of the first call that is not shown. */
  readonly id: string
  readonly count: number
  readonly calls: readonly Call[]
  readonly durationMs: number
}

/** When a module is at work. `lane`: how many others of its bars it stands beside or within. */
export interface SequenceBar {
  readonly call: Call
  readonly column: number
  readonly lane: number
  readonly top: number
  readonly bottom: number
}

export interface SequenceLayout {
  readonly columns: readonly { readonly id: string; readonly x: number }[]
  readonly rows: readonly SequenceRow[]
  readonly bars: readonly SequenceBar[]
  /** By call id. */
  readonly lanes: ReadonlyMap<string, number>
  readonly width: number
  readonly height: number
}

/**
 * Places the calls of a run: participants from left to right in the order of first use, what happened from top to bottom.
 *
 * @param unfolded ids of the folds that are to be shown in full
 */
export function layoutSequence(tree: CallTree, unfolded: ReadonlySet<string>, selected: string): SequenceLayout {
  const folds = findFolds(tree, unfolded, selected)
  const columns = placeColumns(tree)
  const columnOf = new Map(columns.map(({ id }, index) => [id, index]))
  const steps = stepsOf(tree, folds.hidden)
  const rows: SequenceRow[] = []
  const bars = new Map<string, { -readonly [Name in keyof SequenceBar]: SequenceBar[Name] }>()
  const open: SequenceBar[][] = columns.map(() => [])
  let y = 8
  for (const { call, isEnd } of steps) {
    const fold = folds.byFirst.get(call.id)
    if (fold && !isEnd) {
      y += FOLD_HEIGHT
      rows.push({ kind: 'fold', y: y - FOLD_HEIGHT / 2, fold, ...reach(fold, columnOf) })
      continue
    }
    if (folds.hidden.has(call)) continue
    const from = columnOf.get(call.callerId) ?? 0
    const to = columnOf.get(call.moduleId) ?? 0
    const others = open[to] ?? []
    if (!isEnd) {
      y += CALL_HEIGHT
      const taken = new Set(others.map(({ lane }) => lane))
      let lane = 0
      while (taken.has(lane)) lane++
      const bar = { call, column: to, lane, top: y, bottom: Number.POSITIVE_INFINITY }
      others.push(bar)
      bars.set(call.id, bar)
      rows.push({ kind: 'call', y, call, from, to })
    } else {
      y += RETURN_HEIGHT
      const bar = bars.get(call.id)
      if (bar) bar.bottom = y
      others.splice(
        others.findIndex((other) => other.call === call),
        1,
      )
      rows.push({ kind: 'return', y, call, from, to })
    }
  }
  const height = y + 30
  const placed = [...bars.values()].map((bar) => ({ ...bar, bottom: Math.min(bar.bottom, height) }))
  const lanes = new Map(placed.map(({ call, lane }) => [call.id, lane]))
  return { columns, rows, bars: placed, lanes, width: (columns.at(-1)?.x ?? 0) + MIN_COLUMN, height }
}

/** The middle of a bar's outer edge, as seen from another column. */
export function barEdge(x: number, lane: number, isFromRight: boolean): number {
  return x + lane * LANE + (isFromRight ? LANE / 2 : -LANE / 2)
}

function placeColumns(tree: CallTree): { id: string; x: number }[] {
  const needed = new Map<string, number>()
  for (const { callerId, moduleId, method } of tree.calls) {
    const width = Math.min(method.length * 7 + 46, 220)
    for (const id of [callerId, moduleId]) needed.set(id, Math.max(needed.get(id) ?? MIN_COLUMN, width))
  }
  let x = 0
  return tree.participants.map((id, index) => {
    const width = Math.max(needed.get(id) ?? MIN_COLUMN, id.length * 7.5 + 28)
    x += index === 0 ? width / 2 + 8 : width
    return { id, x }
  })
}

interface Step {
  readonly call: Call
  readonly isEnd: boolean
  readonly index: number
}

/** Beginnings and ends, in the order in which they happened. */
function stepsOf(tree: CallTree, hidden: ReadonlySet<Call>): Step[] {
  const steps: Step[] = []
  for (const call of tree.calls) {
    steps.push({ call, isEnd: false, index: call.index })
    if (call.endIndex !== undefined && !hidden.has(call)) steps.push({ call, isEnd: true, index: call.endIndex })
  }
  return steps.sort((a, b) => a.index - b.index)
}

interface Folds {
  readonly byFirst: ReadonlyMap<string, Fold>
  readonly hidden: ReadonlySet<Call>
}

function findFolds(tree: CallTree, unfolded: ReadonlySet<string>, selected: string): Folds {
  const byFirst = new Map<string, Fold>()
  const hidden = new Set<Call>()
  const signatures = new Map<Call, string>()
  const shown = new Set<Call>()
  for (let call = tree.get(selected); call; call = call.parent) shown.add(call)
  const foldAmong = (siblings: readonly Call[]) => {
    for (let start = 0; start < siblings.length; ) {
      const { period, repeats } = findRepeats(siblings, start, signatures)
      if (repeats < MIN_REPEATS) {
        start++
        continue
      }
      // The first time is shown, as an example of the others, with what repeats in it.
      if (period > 1) foldAmong(siblings.slice(start, start + period))
      const calls = siblings.slice(start + period, start + period * repeats)
      const first = calls[0] as Call
      if (!unfolded.has(first.id) && !calls.some((call) => shown.has(call))) {
        byFirst.set(first.id, { id: first.id, count: repeats - 1, calls, durationMs: spanOf(calls) })
        for (const call of calls) hide(call, hidden)
      }
      start += period * repeats
    }
  }
  foldAmong(tree.roots)
  for (const call of tree.calls) if (call.children.length >= MIN_REPEATS && !hidden.has(call)) foldAmong(call.children)
  return { byFirst, hidden }
}

/** What repeats from here on, one time after the other and without a failure: as much as can be covered by one pattern. */
function findRepeats(siblings: readonly Call[], start: number, signatures: Map<Call, string>): Repeats {
  let best: Repeats = { period: 1, repeats: 1 }
  for (let period = 1; period <= MAX_PERIOD && start + period * MIN_REPEATS <= siblings.length; period++) {
    let length = period
    while (start + length < siblings.length && repeatsAt(siblings, start + length, period, signatures)) length++
    const repeats = Math.floor(length / period)
    if (repeats >= MIN_REPEATS && repeats * period > best.repeats * best.period) best = { period, repeats }
  }
  return best
}

interface Repeats {
  readonly period: number
  readonly repeats: number
}

function repeatsAt(siblings: readonly Call[], at: number, period: number, signatures: Map<Call, string>): boolean {
  const call = siblings[at] as Call
  const before = siblings[at - 1] as Call
  const example = siblings[at - period] as Call
  const isAfter = before.endIndex !== undefined && before.endIndex < call.index
  return (
    isAfter && isQuiet(call) && isQuiet(example) && signatureOf(call, signatures) === signatureOf(example, signatures)
  )
}

function isQuiet(call: Call): boolean {
  return call.status === 'done' && call.children.every(isQuiet)
}

function signatureOf(call: Call, known: Map<Call, string>): string {
  let signature = known.get(call)
  if (signature === undefined) {
    signature = `${call.moduleId}.${call.method}(${call.children.map((child) => signatureOf(child, known)).join()})`
    known.set(call, signature)
  }
  return signature
}

function hide(call: Call, hidden: Set<Call>): void {
  hidden.add(call)
  for (const child of call.children) hide(child, hidden)
}

function spanOf(calls: readonly Call[]): number {
  const end = calls.at(-1)?.endedAt ?? 0
  return Math.max(0, (end - (calls[0]?.startedAt ?? end)) * 1000)
}

/** From the leftmost to the rightmost column that a fold concerns. */
function reach({ calls }: Fold, columnOf: ReadonlyMap<string, number>): { from: number; to: number } {
  const columns = calls.flatMap(({ callerId, moduleId }) => [columnOf.get(callerId) ?? 0, columnOf.get(moduleId) ?? 0])
  return { from: Math.min(...columns), to: Math.max(...columns) }
}
