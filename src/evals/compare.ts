import type { EvalResult } from '../wire/eval-result.ts'
import { isSameColumn } from './columns.ts'
import { type CaseOutcome, mean, outcomesOf } from './outcomes.ts'

/** A case with its scores in two results. */
export interface ComparedCase {
  readonly caseId: string
  readonly before: number
  readonly after: number
}

/** A column of a result beside the one that it is compared with. */
export interface ColumnComparison {
  readonly before: string
  readonly after: string
  readonly wins: readonly ComparedCase[]
  readonly losses: readonly ComparedCase[]
  readonly ties: number
  /** Cases that passed before and fail now. */
  readonly regressions: readonly ComparedCase[]
  /** Means over the cases of both. */
  readonly scoreBefore: number | null
  readonly scoreAfter: number | null
  readonly difference: number | null
  /** Of the difference: 95 % of it, by bootstrap over the cases. Null with fewer than two cases. */
  readonly interval: readonly [low: number, high: number] | null
  /** True where the difference may come from the choice of the cases. */
  readonly mayBeNoise: boolean
  /** Ids of cases that only one of them has, and of those whose row has changed. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

const RESAMPLES = 2000
/** Two-sided, 95 %. */
const TAIL = 0.025
/** Scores that are nearer to each other are the same. */
export const SAME_SCORE = 1e-6

/** Compares every column of a result with the one of an earlier result that it belongs to. One without such a column is left out. */
export function compareResults(before: EvalResult, after: EvalResult): ColumnComparison[] {
  return after.columns.flatMap((_, index) => {
    const earlier = findColumn(before, after, index)
    return earlier === undefined ? [] : [compareColumns(before, earlier, after, index)]
  })
}

/** Returns the index of the column of the same agent and changes, otherwise of the agent as it was, otherwise of the only column. */
export function findColumn(before: EvalResult, { columns }: EvalResult, index: number): number | undefined {
  const column = columns[index]
  if (!column) return undefined
  const candidates = [
    before.columns.findIndex((other) => isSameColumn(other, column)),
    before.columns.findIndex(({ agent, changes }) => agent === column.agent && changes.length === 0),
    before.columns.length === 1 ? 0 : -1,
  ]
  return candidates.find((each) => each !== -1)
}

function compareColumns(before: EvalResult, earlier: number, after: EvalResult, index: number): ColumnComparison {
  const old = byCase(outcomesOf(before, earlier))
  const now = byCase(outcomesOf(after, index))
  const both = [...now].flatMap(([caseId, { score, passes }]) => {
    const previous = old.get(caseId)
    if (previous?.score == null || score === null) return []
    const isRegression = previous.passes === true && passes === false
    return [{ case: { caseId, before: previous.score, after: score }, isRegression }]
  })
  const compared = both.map((each) => each.case)
  const differences = compared.map((each) => each.after - each.before)
  const interval = bootstrap(differences)
  const digests = new Map(before.cases.map(({ id, digest }) => [id, digest]))
  return {
    before: before.columns[earlier]?.name ?? '',
    after: after.columns[index]?.name ?? '',
    wins: compared.filter((each) => each.after - each.before > SAME_SCORE),
    losses: compared.filter((each) => each.before - each.after > SAME_SCORE),
    ties: differences.filter((difference) => Math.abs(difference) <= SAME_SCORE).length,
    regressions: both.filter(({ isRegression }) => isRegression).map((each) => each.case),
    scoreBefore: mean(compared.map((each) => each.before)),
    scoreAfter: mean(compared.map((each) => each.after)),
    difference: mean(differences),
    interval,
    mayBeNoise: interval === null || (interval[0] <= SAME_SCORE && interval[1] >= -SAME_SCORE),
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    changed: after.cases
      .filter(({ id, digest }) => now.has(id) && old.has(id) && digests.get(id) !== digest)
      .map(({ id }) => id),
  }
}

/** Outcomes by the ids of their cases. */
export function byCase(outcomes: readonly CaseOutcome[]): Map<string, CaseOutcome> {
  return new Map(outcomes.map((outcome) => [outcome.caseId, outcome]))
}

/** The middle 95 % of the means of resamples. The same differences always give the same interval. */
function bootstrap(differences: readonly number[]): readonly [number, number] | null {
  const count = differences.length
  if (count < 2) return null
  const random = makeRandom(count)
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let total = 0
    for (let drawn = 0; drawn < count; drawn++) total += differences[Math.floor(random() * count)] ?? 0
    return total / count
  }).sort()
  const at = (share: number) => means[Math.floor(share * (RESAMPLES - 1))] ?? 0
  return [at(TAIL), at(1 - TAIL)]
}

/** Numbers from 0 up to 1 (xorshift32), from a seed. */
function makeRandom(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 0x1_0000_0000
  }
}

/** Tells in words how far the comparison can be trusted. */
export function describeConfidence({ wins, losses, ties, interval, mayBeNoise }: ColumnComparison): string {
  const count = wins.length + losses.length + ties
  if (count === 0) return 'No case is in both results: nothing can be compared.'
  if (wins.length + losses.length === 0) return 'Every case has the same score.'
  if (interval === null) return 'One case says nothing about others: this may be noise.'
  const [low, high] = interval.map(toSigned)
  const range = `With other cases like these, the difference would be from ${low} to ${high} (95 %).`
  return mayBeNoise ? `This may be noise. ${range}` : `This is more than noise. ${range}`
}

/** `+0.12` */
export function toSigned(value: number): string {
  const text = value.toFixed(2)
  return value >= 0 && !text.startsWith('-') ? `+${text}` : text
}
