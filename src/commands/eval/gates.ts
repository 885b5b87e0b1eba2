import { badOption } from '../../errors.ts'
import { compareResults } from '../../evals/compare.ts'
import { outcomesOf, summarize } from '../../evals/outcomes.ts'
import { findResult, readResult } from '../../evals/result-file.ts'
import type { EvalResult } from '../../wire/eval-result.ts'
import { formatScore } from './format-result.ts'

/** Conditions that a result must fulfil. */
export interface Gates {
  readonly min: number | undefined
  readonly baseline: EvalResult | undefined
}

/** Conditions that a result does not fulfil. Fields are named as `--json` names them. */
export interface Verdict {
  /** Columns whose score is below the minimum. */
  readonly below_min: readonly { readonly column: string; readonly score: number | null }[]
  /** Cases that passed in the baseline and fail now. */
  readonly regressions: readonly {
    readonly column: string
    readonly case: string
    readonly before: number
    readonly after: number
  }[]
}

/**
 * @param own file of the eval itself (absolute): never its baseline
 * @throws HostError `OPTION_INVALID`, `PROJECT_INVALID` for a baseline that cannot be read
 */
export async function readGates(
  { min, baseline }: { readonly min?: string | undefined; readonly baseline?: string | undefined },
  pathOf: (file: string) => string,
  own: string,
): Promise<Gates> {
  return {
    min: min === undefined ? undefined : readMin(min),
    baseline:
      baseline === undefined ? undefined : await readResult(await findResult(baseline, process.cwd(), pathOf, own)),
  }
}

export function checkGates(result: EvalResult, { min, baseline }: Gates): Verdict {
  const scores = result.columns.map(({ name }, index) => ({
    column: name,
    score: summarize(outcomesOf(result, index)).score,
  }))
  return {
    below_min: min === undefined ? [] : scores.filter(({ score }) => score === null || score < min),
    regressions: (baseline ? compareResults(baseline, result) : []).flatMap(({ after: column, regressions }) =>
      regressions.map(({ caseId, before, after }) => ({ column, case: caseId, before, after })),
    ),
  }
}

/** Lines about the conditions that a result does not fulfil. */
export function describeVerdict({ below_min: below, regressions }: Verdict, { min }: Gates): string[] {
  const ids = [...new Set(regressions.map((each) => each.case))]
  const worse = regressions.map((each) => `  ${each.case}  ${formatScore(each.before)} → ${formatScore(each.after)}`)
  return [
    ...below.map(({ column, score }) => `${column}: score ${formatScore(score)} is below ${min}.`),
    ...(ids.length > 0
      ? [`Passed in the baseline, and ${ids.length === 1 ? 'fails' : 'fail'} now: ${ids.join(', ')}`]
      : []),
    ...worse,
  ]
}

function readMin(text: string): number {
  const min = Number(text)
  if (text.trim() !== '' && min >= 0 && min <= 1) return min
  throw badOption(`--min must be from 0 to 1, not '${text}'.`)
}
