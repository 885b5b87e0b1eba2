import { isDeepStrictEqual } from 'node:util'
import type { EvalToolCall } from '../../wire/eval-result.ts'
import type { Scorer } from '../scorer.ts'

/**
 * Share of the calls of tools that are as the row expects them (`expected_tools`), by name, arguments and order. An expected call without
 * arguments takes any. A call that is not expected counts against the run.
 */
export const tools: Scorer = ({ expectedTools, run }) =>
  expectedTools ? compare('tools', expectedTools, run.tools, matchInOrder(expectedTools, run.tools)) : null

/** As {@link tools}, in any order. */
export const toolsInAnyOrder: Scorer = ({ expectedTools, run }) =>
  expectedTools ? compare('toolsInAnyOrder', expectedTools, run.tools, matchAny(expectedTools, run.tools)) : null

/** Share of the calls that the run waits for that are as the row expects them (`expected_waits`), in any order. Judges every row that has them. */
export const waits: Scorer = ({ expectedWaits, run }) =>
  expectedWaits ? compare('waits', expectedWaits, run.waits, matchAny(expectedWaits, run.waits)) : null

/** Indexes of an expected call and of the one that fits it. */
type Pair = readonly [expected: number, made: number]

function compare(
  name: string,
  expected: readonly EvalToolCall[],
  made: readonly EvalToolCall[],
  pairs: readonly Pair[],
): ReturnType<Scorer> {
  const most = Math.max(expected.length, made.length)
  const missing = expected.filter((_, index) => !pairs.some(([wanted]) => wanted === index))
  const unexpected = made.filter((_, index) => !pairs.some(([, found]) => found === index))
  const differs = missing.length + unexpected.length > 0
  return {
    name,
    score: most === 0 ? 1 : pairs.length / most,
    ...(differs ? { metadata: { missing, unexpected } } : {}),
  }
}

/** The longest common subsequence. */
function matchInOrder(expected: readonly EvalToolCall[], made: readonly EvalToolCall[]): readonly Pair[] {
  let rows: (readonly Pair[])[] = Array.from({ length: made.length + 1 }, () => [])
  for (const [wanted, call] of expected.entries()) {
    const next: (readonly Pair[])[] = [[]]
    for (const [found, other] of made.entries()) {
      const [diagonal = [], above = [], left = []] = [rows[found], rows[found + 1], next[found]]
      const longest = above.length >= left.length ? above : left
      const joined: readonly Pair[] = fits(call, other) ? [...diagonal, [wanted, found]] : []
      next.push(joined.length > longest.length ? joined : longest)
    }
    rows = next
  }
  return rows.at(-1) ?? []
}

/** Calls with arguments choose before those that take any. */
function matchAny(expected: readonly EvalToolCall[], made: readonly EvalToolCall[]): readonly Pair[] {
  const left = new Set(made.keys())
  const strictFirst = [...expected.entries()].sort(([, a], [, b]) => Number(!a.arguments) - Number(!b.arguments))
  return strictFirst.flatMap(([wanted, call]): Pair[] => {
    const found = [...left].find((index) => fits(call, made[index]))
    if (found === undefined) return []
    left.delete(found)
    return [[wanted, found]]
  })
}

function fits(expected: EvalToolCall, made: EvalToolCall | undefined): boolean {
  if (made?.name !== expected.name) return false
  return expected.arguments === undefined || isDeepStrictEqual(expected.arguments, made.arguments ?? {})
}
