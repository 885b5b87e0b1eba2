import { type Call, type CallTree, nameMethod } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { formatCount, participantName } from '../format.ts'
import { type Fold, findFolds } from './folds.ts'

export const LANE = 10
export const HEAD_HEIGHT = 44
const CALL_HEIGHT = 30
const RETURN_HEIGHT = 22
const FOLD_HEIGHT = 34
const MIN_COLUMN = 90
const MAX_COLUMN = 300
const EDGE = 8
/** Part of the row of a fold beyond its columns, at either side. */
const FOLD_MARGIN = 30

/** A line of the diagram. `y` is its middle, in pixels below the heads. */
export type SequenceRow =
  | {
      readonly kind: 'call' | 'return'
      readonly y: number
      readonly call: Call
      readonly from: number
      readonly to: number
    }
  | SequenceFoldRow

/** Repetitions in one row, from the leftmost to the rightmost column that they concern. */
export interface SequenceFoldRow {
  readonly kind: 'fold'
  readonly y: number
  readonly fold: Fold
  readonly label: string
  readonly from: number
  readonly to: number
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
  /** Room for labels at the left of each column, without the bars of its neighbour. */
  readonly gaps: readonly { readonly left: number; readonly right: number }[]
  readonly rows: readonly SequenceRow[]
  readonly bars: readonly SequenceBar[]
  /** By call id. */
  readonly lanes: ReadonlyMap<string, number>
  readonly width: number
  readonly height: number
}

/** Choices that decide what is drawn. */
export interface SequenceChoices {
  /** Calls that are left out. */
  readonly plumbing: ReadonlySet<Call>
  /** Ids of the folds that are to be shown in full. */
  readonly unfolded: ReadonlySet<string>
  readonly selected: string
}

/** Places the calls of a run: participants from left to right in the order of first use, events from top to bottom. */
export function layoutSequence(tree: CallTree, { plumbing, unfolded, selected }: SequenceChoices): SequenceLayout {
  const folds = findFolds(tree, unfolded, selected)
  const calls = tree.calls.filter((call) => !plumbing.has(call))
  const { columns, right } = placeColumns(tree, calls)
  const columnOf = new Map(columns.map(({ id }, index) => [id, index]))
  const steps = stepsOf(calls, folds.hidden)
  const rows: SequenceRow[] = []
  const bars = new Map<string, { -readonly [Name in keyof SequenceBar]: SequenceBar[Name] }>()
  const open: SequenceBar[][] = columns.map(() => [])
  let y = 8
  for (const { call, isEnd } of steps) {
    const fold = folds.byFirst.get(call.id)
    if (fold && !isEnd) {
      y += FOLD_HEIGHT
      rows.push({ kind: 'fold', y: y - FOLD_HEIGHT / 2, fold, label: labelOf(fold), ...reach(fold, columnOf) })
      continue
    }
    if (folds.hidden.has(call)) continue
    const from = columnOf.get(call.from) ?? 0
    const to = columnOf.get(call.to) ?? 0
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
  const widest = columns.map(() => 0)
  for (const { column, lane } of placed) widest[column] = Math.max(widest[column] ?? 0, lane)
  const gaps = columns.map(({ x }, index) => {
    const before = columns[index - 1]
    return { left: before ? before.x + (widest[index - 1] ?? 0) * LANE + LANE / 2 : 0, right: x - LANE / 2 }
  })
  const ends = rows.map((row) => (row.kind === 'fold' ? foldRight(row, columns) + EDGE : 0))
  return { columns, gaps, rows, bars: placed, lanes, width: ends.reduce((a, b) => Math.max(a, b), right), height }
}

/** Left edge of the row of a fold. */
export function foldLeft({ from }: SequenceFoldRow, columns: SequenceLayout['columns']): number {
  return (columns[from]?.x ?? 0) - FOLD_MARGIN
}

/** Right edge of the row of a fold, which has room for its label. */
export function foldRight(row: SequenceFoldRow, columns: SequenceLayout['columns']): number {
  const right = (columns[row.to]?.x ?? 0) + FOLD_MARGIN
  return Math.max(right, foldLeft(row, columns) + row.label.length * 6.4 + 24)
}

/** The middle of a bar's outer edge, as seen from another column. */
export function barEdge(x: number, lane: number, isFromRight: boolean): number {
  return x + lane * LANE + (isFromRight ? LANE / 2 : -LANE / 2)
}

/** Columns as far apart as their heads and the labels between them need: the label of a call stands at the left of the column further right. */
function placeColumns(
  tree: CallTree,
  calls: readonly Call[],
): { readonly columns: SequenceLayout['columns']; readonly right: number } {
  const used = new Set(calls.flatMap(({ from, to }) => [from, to]))
  const ids = tree.participants.filter((id) => used.has(id))
  const columnOf = new Map(ids.map((id, index) => [id, index]))
  const gaps = ids.map((id, index) => Math.max(MIN_COLUMN, (headWidth(ids[index - 1] ?? '') + headWidth(id)) / 2))
  for (const call of calls) {
    const [from = 0, to = 0] = [columnOf.get(call.from), columnOf.get(call.to)]
    // A call of a module by itself has its label at its right.
    const column = from === to ? to + 1 : Math.max(from, to)
    gaps[column] = Math.max(gaps[column] ?? 0, Math.min(nameMethod(call).length * 7 + 46, MAX_COLUMN))
  }
  let x = 0
  const columns = ids.map((id, index) => {
    x += index === 0 ? headWidth(id) / 2 + EDGE : (gaps[index] ?? 0)
    return { id, x }
  })
  return { columns, right: x + Math.max(headWidth(ids.at(-1) ?? '') / 2 + EDGE, gaps[ids.length] ?? 0) }
}

function headWidth(id: string): number {
  return participantName(id).length * 7.5 + 28
}

interface Step {
  readonly call: Call
  readonly isEnd: boolean
  readonly index: number
}

/** Beginnings and ends, in the order in which they happened. */
function stepsOf(calls: readonly Call[], hidden: ReadonlySet<Call>): Step[] {
  const steps: Step[] = []
  for (const call of calls) {
    steps.push({ call, isEnd: false, index: call.index })
    if (call.endIndex !== undefined && !hidden.has(call)) steps.push({ call, isEnd: true, index: call.endIndex })
  }
  return steps.sort((a, b) => a.index - b.index)
}

function labelOf({ calls, count, durationMs }: Fold): string {
  const names = [...new Set(calls.map(({ to, method }) => `${participantName(to)}.${method}`))].slice(0, 3).join(', ')
  return `↻ ${formatCount(count)} more × ${names} · ${formatDuration(durationMs)}`
}

function reach({ calls }: Fold, columnOf: ReadonlyMap<string, number>): { from: number; to: number } {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const call of calls) {
    const [caller = 0, callee = 0] = [columnOf.get(call.from), columnOf.get(call.to)]
    from = Math.min(from, caller, callee)
    to = Math.max(to, caller, callee)
  }
  return { from, to }
}
