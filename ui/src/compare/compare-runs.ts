import type { Call } from '../../../src/trace/calls/call-tree.ts'

/** Calls of two runs side by side; one of them is undefined where the other run has no such call. */
export interface ComparedCalls {
  readonly left: Call | undefined
  readonly right: Call | undefined
  /** Differences between the two; empty for calls that are alike, and for a call that stands alone. */
  readonly differs: readonly Difference[]
  /** A rerun has no such call, since the tape answered the one around it. */
  readonly isTaped?: boolean
}

/** `asked`: the arguments. `given`: the result or error. `state`: how the call ended. */
export type Difference = 'asked' | 'given' | 'state'

/** Weights of a match: calls that ask the same belong together before others of their method. */
const SAME_METHOD = 2
const SAME_ASKED = 3
/** Comparisons beyond which calls that are far apart are not brought together. */
const MAX_CELLS = 16_000_000
/** Reach in both directions, in calls. */
const MAX_REACH = 750

/**
 * Aligns the calls of two runs: as many as possible of the same method at the same depth, in their order. 5,000 calls each take some
 * 100 ms.
 */
export function compareCalls(left: readonly Call[], right: readonly Call[]): ComparedCalls[] {
  const [one, other] = number(left, right)
  const shortest = Math.min(one.length, other.length)
  const isSame = (row: number, column: number) => one.asked[row] === other.asked[column]
  let start = 0
  while (start < shortest && isSame(start, start)) start++
  let end = 0
  while (end < shortest - start && isSame(one.length - 1 - end, other.length - 1 - end)) end++
  const middle = align(
    { ...one, start, length: one.length - start - end },
    { ...other, start, length: other.length - start - end },
  )
  const pairs = [
    ...Array.from({ length: start }, (_, index): Pair => [index, index]),
    ...middle,
    ...Array.from({ length: end }, (_, index): Pair => [one.length - end + index, other.length - end + index]),
  ]
  return pairs.map(([row, column]) => {
    const pair = { left: left[row ?? -1], right: right[column ?? -1] }
    return { ...pair, differs: pair.left && pair.right ? findDifferences(pair.left, pair.right) : [] }
  })
}

/** Tells whether two calls side by side differ, or one is missing that the tape does not stand for. */
export function isDifferent({ left, right, differs, isTaped }: ComparedCalls): boolean {
  return !isTaped && (!left || !right || differs.length > 0)
}

/** Marks the calls of a recorded run that its rerun did not make: the tape answered the call around them. */
export function markTaped(pairs: readonly ComparedCalls[], recorded: 'left' | 'right'): ComparedCalls[] {
  const rerun = recorded === 'left' ? 'right' : 'left'
  const partners = new Map(pairs.flatMap((pair) => (pair[recorded] ? [[pair[recorded], pair[rerun]]] : [])))
  const isTaped = (call: Call | undefined): boolean => {
    const around = call?.parent
    if (!around) return false
    const partner = partners.get(around)
    return partner ? partner.children.length === 0 && around.children.length > 0 : isTaped(around)
  }
  return pairs.map((pair) => (!pair[rerun] && isTaped(pair[recorded]) ? { ...pair, isTaped: true } : pair))
}

/** Places of a call in both lists; one is undefined where it has none. */
type Pair = readonly [row: number | undefined, column: number | undefined]

/** A list of calls as numbers: equal for calls of the same method, and for those that ask the same, too. */
interface Numbered {
  readonly method: Int32Array
  readonly asked: Int32Array
  readonly length: number
}

function number(left: readonly Call[], right: readonly Call[]): [Numbered, Numbered] {
  const known = new Map<string, number>()
  const numberOf = (key: string) => {
    const found = known.get(key) ?? known.size
    known.set(key, found)
    return found
  }
  const numbered = (calls: readonly Call[]): Numbered => {
    const method = Int32Array.from(calls, (call) => numberOf(keyOf(call)))
    const asked = Int32Array.from(calls, (call, index) => numberOf(`${method[index]} ${call.asks ?? call.label ?? ''}`))
    return { method, asked, length: calls.length }
  }
  return [numbered(left), numbered(right)]
}

function keyOf({ depth, kind, moduleId, method, label = '' }: Call): string {
  const tool = method === 'executeTool' ? label.split('(', 1)[0] : ''
  return `${depth} ${kind} ${moduleId} ${method} ${tool}`
}

interface Part extends Numbered {
  readonly start: number
}

const MATCH = 1
const SKIP_LEFT = 2
const SKIP_RIGHT = 3

/** Best alignment of two lists, within a band around the way from their beginnings to their ends. */
function align(one: Part, other: Part): Pair[] {
  const band = new Band(one.length, other.length)
  const { steps, width } = band
  const methods = columnsOf(other.method, other)
  const asks = columnsOf(other.asked, other)
  const room = width + band.maxShift + 2
  let before = new Int32Array(room)
  let scores = new Int32Array(room)
  for (let row = 1; row <= one.length; row++) {
    const first = band.firstOf(row)
    const shift = first - band.firstOf(row - 1)
    const method = one.method[one.start + row - 1] as number
    const asked = one.asked[one.start + row - 1] as number
    const last = Math.min(width, other.length + 1 - first)
    let beside = 0
    for (let place = 0; place < last; place++) {
      // The row above is shifted; outside of the band nothing is known, and nothing is won.
      const above = before[place + shift + 1] as number
      let score = beside
      let step = SKIP_RIGHT
      if (above >= beside) {
        score = above
        step = SKIP_LEFT
      }
      if (methods[first + place] === method) {
        const weight = asks[first + place] === asked ? SAME_ASKED : SAME_METHOD
        const matched = (before[place + shift] as number) + weight
        if (matched > score) {
          score = matched
          step = MATCH
        }
      }
      beside = score
      scores[place + 1] = score
      steps[row * width + place] = step
    }
    scores.fill(0, last + 1)
    ;[before, scores] = [scores, before]
  }
  return trace(one, other, band)
}

/** Numbers of the calls that are aligned, by their columns: the first column stands before them. */
function columnsOf(numbers: Int32Array, { start, length }: Part): Int32Array {
  const columns = new Int32Array(length + 1).fill(-1)
  columns.set(numbers.subarray(start, start + length), 1)
  return columns
}

/** The steps of an alignment, row by row: of each row the columns near the diagonal. */
class Band {
  readonly width: number
  readonly steps: Uint8Array
  readonly #rows: number
  readonly #columns: number
  readonly #reach: number

  constructor(rows: number, columns: number) {
    this.#rows = rows
    this.#columns = columns
    const most = Math.floor(MAX_CELLS / Math.max(rows, 1) / 2)
    this.#reach = Math.min(MAX_REACH, most, columns) + 1
    this.width = Math.min(columns + 1, 2 * this.#reach + 1 + Math.ceil(columns / Math.max(rows, 1)))
    this.steps = new Uint8Array((rows + 1) * this.width)
  }

  /** Columns by which the band moves from one row to the next, at most. */
  get maxShift(): number {
    return Math.ceil(this.#columns / Math.max(this.#rows, 1)) + 1
  }

  /** First column of a row; it never becomes smaller. */
  firstOf(row: number): number {
    const middle = this.#rows === 0 ? 0 : Math.floor((row / this.#rows) * this.#columns)
    return Math.max(0, Math.min(middle - this.#reach, this.#columns + 1 - this.width))
  }

  stepAt(row: number, column: number): number {
    const place = column - this.firstOf(row)
    return place < 0 || place >= this.width ? 0 : (this.steps[row * this.width + place] ?? 0)
  }
}

function trace(one: Part, other: Part, band: Band): Pair[] {
  const pairs: Pair[] = []
  let [row, column] = [one.length, other.length]
  while (row > 0 || column > 0) {
    const step = row === 0 ? SKIP_RIGHT : column === 0 ? SKIP_LEFT : band.stepAt(row, column)
    if (step === MATCH) pairs.push([one.start + --row, other.start + --column])
    else if (step === SKIP_RIGHT) pairs.push([undefined, other.start + --column])
    else pairs.push([one.start + --row, undefined])
  }
  return pairs.reverse()
}

function findDifferences(left: Call, right: Call): Difference[] {
  return [
    ...(left.asks !== right.asks ? (['asked'] as const) : []),
    ...(left.gives !== right.gives ? (['given'] as const) : []),
    ...(left.status !== right.status ? (['state'] as const) : []),
  ]
}
