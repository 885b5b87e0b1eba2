import { type ColumnComparison, describeConfidence, toSigned } from '../../evals/compare.ts'
import { describeRun } from '../../evals/junit.ts'
import { type CaseOutcome, outcomesOf, summarize } from '../../evals/outcomes.ts'
import { shorten } from '../../shorten.ts'
import type { EvalResult } from '../../wire/eval-result.ts'
import { formatDuration } from '../../wire/format-duration.ts'
import { oneLine } from '../terminal/one-line.ts'
import { plural } from '../terminal/plural.ts'

/** Failed cases that are shown with their reasons. */
const SHOWN_CASES = 20
const SHOWN_LINES = 8
const LINE_CHARS = 200

/** Lines that tell people of a result: failed cases with their reasons, then the numbers of each column. */
export function formatResult(result: EvalResult): string[] {
  const { problems } = result
  const lines = result.columns.flatMap((_, column) => formatColumn(result, column))
  return [...problems.map(({ where, message }) => `${where}: ${message}`), ...lines]
}

function formatColumn(result: EvalResult, index: number): string[] {
  const outcomes = outcomesOf(result, index)
  const failed = outcomes.filter(({ passes }) => passes === false)
  const { passed, cases, runs, unscored, notRun, score, durationMs, cost, scorers } = summarize(outcomes)
  const name = result.columns[index]?.name ?? ''
  const more = failed.length > SHOWN_CASES ? [`  and ${plural(failed.length - SHOWN_CASES, 'failed case')} more`] : []
  const notes = [
    `${passed} of ${plural(cases, 'case')} passed`,
    `score ${formatScore(score)}`,
    ...(unscored > 0 ? [`${unscored} not judged`] : []),
    ...(notRun > 0 ? [`${plural(notRun, 'run')} did not begin`] : []),
    ...(runs > notRun ? [`${formatDuration(durationMs / (runs - notRun))} a run`] : []),
    ...(cost === null || cost > 0 ? [formatCost(cost)] : []),
  ]
  const means = scorers.map((scorer) => `${scorer.name} ${formatScore(scorer.score)}`)
  return [
    ...failed.slice(0, SHOWN_CASES).flatMap(formatFailed),
    ...more,
    `${name}: ${notes.join(', ')}`,
    ...(means.length > 1 ? [`  ${means.join(', ')}`] : []),
  ]
}

function formatFailed({ caseId, score, runs }: CaseOutcome): string[] {
  const reasons = runs.flatMap(describeRun).flatMap((reason) => reason.split('\n'))
  const lines = [...new Set(reasons.map((reason) => `    ${shorten(oneLine(reason), LINE_CHARS)}`))]
  return [`  failed  ${caseId}  ${formatScore(score)}`, ...lines.slice(0, SHOWN_LINES)]
}

/** Lines that tell people of a comparison. */
export function formatComparison(comparison: ColumnComparison): string[] {
  const { before, after, wins, losses, ties, scoreBefore, scoreAfter, difference } = comparison
  const name = before === after ? after : `${after}, compared with ${before}`
  const change = difference === null ? '' : ` (${toSigned(difference)})`
  const notes: [string, readonly string[]][] = [
    ['Only in the second', comparison.added],
    ['Only in the first', comparison.removed],
    ['With another row', comparison.changed],
  ]
  return [
    `${name}: score ${formatScore(scoreBefore)} → ${formatScore(scoreAfter)}${change}`,
    `  ${plural(wins.length, 'win')}, ${plural(losses.length, 'loss', 'losses')}, ${plural(ties, 'tie')}`,
    `  ${describeConfidence(comparison)}`,
    ...losses.map((each) => `  worse   ${each.caseId}  ${formatScore(each.before)} → ${formatScore(each.after)}`),
    ...wins.map((each) => `  better  ${each.caseId}  ${formatScore(each.before)} → ${formatScore(each.after)}`),
    ...notes.filter(([, ids]) => ids.length > 0).map(([title, ids]) => `  ${title}: ${ids.join(', ')}`),
  ]
}

export function formatScore(score: number | null): string {
  return score === null ? '-' : score.toFixed(2)
}

/** In US dollars. */
export function formatCost(cost: number | null): string {
  if (cost === null) return 'cost unknown'
  return `$${cost.toFixed(cost > 0 && cost < 0.01 ? 4 : 2)}`
}
