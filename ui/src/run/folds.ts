import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'

/** Number of repetitions from which calls are folded. */
const MIN_REPEATS = 4
/** Maximum number of calls in one repetition. */
const MAX_PERIOD = 20

/** Repetitions that are not shown one by one. */
export interface Fold {
  /** Of the first call that is not shown. */
  readonly id: string
  readonly count: number
  readonly calls: readonly Call[]
  readonly durationMs: number
}

export interface Folds {
  /** By the id of the first call that each hides. */
  readonly byFirst: ReadonlyMap<string, Fold>
  readonly hidden: ReadonlySet<Call>
}

/**
 * Finds repetitions: the first one stays visible as an example. Never hides failed, running or selected calls.
 *
 * @param unfolded ids of the folds that are shown in full
 */
export function findFolds(tree: CallTree, unfolded: ReadonlySet<string>, selected: string): Folds {
  const byFirst = new Map<string, Fold>()
  const hidden = new Set<Call>()
  const looks = new Looks()
  const shown = new Set<Call>()
  for (let call = tree.get(selected); call; call = call.parent) shown.add(call)
  const foldAmong = (siblings: readonly Call[]) => {
    const row = looks.ofRow(siblings)
    for (let start = 0; start < siblings.length; ) {
      const { period, repeats } = findRepeats(row, start)
      if (repeats < MIN_REPEATS) {
        start++
        continue
      }
      // The first one stays visible as an example, with its own repetitions.
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

interface Repeats {
  readonly period: number
  readonly repeats: number
}

/** Finds the calls that repeat from here on, back to back and without a failure: as many as one pattern covers. */
function findRepeats({ looks, follows }: Row, start: number): Repeats {
  let best: Repeats = { period: 1, repeats: 1 }
  for (let period = 1; period <= MAX_PERIOD && start + period * MIN_REPEATS <= looks.length; period++) {
    let at = start + period
    while (at < looks.length && follows[at] && looks[at] === looks[at - period]) at++
    const repeats = Math.floor((at - start) / period)
    if (repeats >= MIN_REPEATS && repeats * period > best.repeats * best.period) best = { period, repeats }
  }
  return best
}

/** Calls side by side, to be compared. */
interface Row {
  /** Equal for calls that look alike; {@link UNIQUE} never repeats. */
  readonly looks: readonly number[]
  /** True for a call that began after the one before it had ended. */
  readonly follows: readonly boolean[]
}

/** Look of a call that failed, or runs: unequal to itself. */
const UNIQUE = Number.NaN

/** Numbers that identify equal calls, nested ones included, so that comparisons cost nothing. */
class Looks {
  readonly #known = new Map<Call, number>()
  readonly #numbers = new Map<string, number>()

  ofRow(siblings: readonly Call[]): Row {
    return {
      looks: siblings.map((call) => this.#of(call)),
      follows: siblings.map((call, at) => {
        const { endIndex } = siblings[at - 1] ?? {}
        return endIndex !== undefined && endIndex < call.index
      }),
    }
  }

  #of(call: Call): number {
    let look = this.#known.get(call)
    if (look === undefined) {
      look = this.#number(call)
      this.#known.set(call, look)
    }
    return look
  }

  #number({ to, method, status, children }: Call): number {
    const within = children.map((child) => this.#of(child))
    if (status !== 'done' || within.includes(UNIQUE)) return UNIQUE
    const text = `${to}.${method}(${within})`
    const number = this.#numbers.get(text) ?? this.#numbers.size
    this.#numbers.set(text, number)
    return number
  }
}

function hide(call: Call, hidden: Set<Call>): void {
  hidden.add(call)
  for (const child of call.children) hide(child, hidden)
}

function spanOf(calls: readonly Call[]): number {
  const end = calls.at(-1)?.endedAt ?? 0
  return Math.max(0, (end - (calls[0]?.startedAt ?? end)) * 1000)
}
