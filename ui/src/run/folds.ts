import type { Call, CallTree } from '../../../src/trace/call-tree.ts'

/** Repetitions of what a module calls in turn are folded from here on. */
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
 * Finds what repeats: the first time stays, as an example of the others. Never hides what failed, what runs, or what is selected.
 *
 * @param unfolded ids of the folds that are shown in full
 */
export function findFolds(tree: CallTree, unfolded: ReadonlySet<string>, selected: string): Folds {
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

/** Finds the calls that repeat from here on, back to back and without a failure: as many as one pattern covers. */
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
