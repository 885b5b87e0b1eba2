import { type EvalResult, type EvalRun, type EvalScore, PASS_SCORE } from '../wire/eval-result.ts'

/** Outcome of one case with one agent or variant, over all its repeats. */
export interface CaseOutcome {
  readonly caseId: string
  /** Mean over the repeats; null where nothing judges the case. */
  readonly score: number | null
  /** True if every scorer gave at least {@link PASS_SCORE} on average. Null where nothing judges it. */
  readonly passes: boolean | null
  readonly runs: readonly EvalRun[]
}

/** Numbers of a column. */
export interface ColumnSummary {
  readonly cases: number
  readonly passed: number
  readonly failed: number
  /** Cases that nothing judges. */
  readonly unscored: number
  readonly runs: number
  /** Runs that did not begin. */
  readonly notRun: number
  /** Mean over the cases; null where none is judged. */
  readonly score: number | null
  /** Of all runs together. */
  readonly durationMs: number
  readonly tokens: number
  /** US dollars; null where a price is unknown. */
  readonly cost: number | null
  /** Mean of each scorer over the runs that it judged, in their order. */
  readonly scorers: readonly { readonly name: string; readonly score: number }[]
}

/** Returns the outcomes of a column by case, in the order of the cases. */
export function outcomesOf({ cases, runs }: Pick<EvalResult, 'cases' | 'runs'>, column: number): CaseOutcome[] {
  const byCase = new Map<string, EvalRun[]>()
  for (const run of runs) {
    if (run.column !== column) continue
    const known = byCase.get(run.case)
    if (known) known.push(run)
    else byCase.set(run.case, [run])
  }
  return cases.flatMap(({ id }) => {
    const own = byCase.get(id)
    return own ? [toOutcome(id, own)] : []
  })
}

export function summarize(outcomes: readonly CaseOutcome[]): ColumnSummary {
  const runs = outcomes.flatMap((outcome) => outcome.runs)
  const costs = runs.map(({ cost }) => cost)
  return {
    cases: outcomes.length,
    passed: outcomes.filter(({ passes }) => passes === true).length,
    failed: outcomes.filter(({ passes }) => passes === false).length,
    unscored: outcomes.filter(({ passes }) => passes === null).length,
    runs: runs.length,
    notRun: runs.filter(({ status }) => status === 'not_run').length,
    score: mean(outcomes.flatMap(({ score }) => score ?? [])),
    durationMs: sum(runs.map(({ duration_ms: ms }) => ms)),
    tokens: sum(runs.map(({ input_tokens: input, output_tokens: output }) => input + output)),
    cost: costs.includes(null) ? null : sum(costs.map((cost) => cost ?? 0)),
    scorers: meansOf(runs.flatMap(({ scores }) => scores)),
  }
}

function meansOf(scores: readonly EvalScore[]): ColumnSummary['scorers'] {
  return [...new Set(scores.map(({ name }) => name))].flatMap((name) => {
    const score = mean(scores.filter((each) => each.name === name).flatMap(valueOf))
    return score === null ? [] : [{ name, score }]
  })
}

/** Mean score of a run: a scorer that failed counts as 0, as does a run that failed. Null where nothing judges it. */
export function scoreOf({ status, scores }: Pick<EvalRun, 'status' | 'scores'>): number | null {
  if (hasFailed(status)) return 0
  return mean(scores.flatMap(valueOf))
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length
}

function toOutcome(caseId: string, runs: readonly EvalRun[]): CaseOutcome {
  const score = mean(runs.flatMap((run) => run.score ?? []))
  return { caseId, score, passes: score === null ? null : passes(runs), runs }
}

function passes(runs: readonly EvalRun[]): boolean {
  const names = new Set(runs.flatMap(({ scores }) => scores.map(({ name }) => name)))
  if (names.size === 0) return false
  return [...names].every((name) => {
    const values = runs.flatMap(({ status, scores }) => {
      if (hasFailed(status)) return 0
      return scores.filter((score) => score.name === name).flatMap(valueOf)
    })
    return (mean(values) ?? 1) >= PASS_SCORE
  })
}

function hasFailed(status: EvalRun['status']): boolean {
  return status !== 'completed' && status !== 'waiting'
}

function valueOf({ score, error }: EvalScore): number | [] {
  return error === undefined ? (score ?? []) : 0
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
