import { useEffect } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import type { EvalScore, EvalToolCall } from '../../../src/wire/eval-result.ts'
import type { QuestionNews } from '../../../src/wire/question.ts'
import { useQuery } from '../api.ts'

const REFRESH_MS = 3000
const QUERY = `query($file: String) {
  evals { results { file problem name created_at is_part columns { name score } } case_files }
  eval_result(file: $file) {
    file path name status created_at duration_ms spent before { file created_at } problems { where message }
    columns { name score passed failed unscored cost difference confidence }
    cases { id input tags cells { score passes score_before change } }
  }
}`
const RUNS = 'run_id repeat status output error tools scores duration_ms input_tokens output_tokens cost'
const CASE_QUERY = `query($file: String, $id: String) { eval_result(file: $file) {
  cases(id: $id) { id file line input expected cells { runs { ${RUNS} } runs_before { ${RUNS} } } }
} }`

export interface EvalSummary {
  readonly file: string
  /** Why it cannot be read. */
  readonly problem: string | null
  readonly name: string | null
  readonly created_at: number | null
  /** It ran a part of the cases alone. */
  readonly is_part: boolean
  readonly columns: readonly { readonly name: string; readonly score: number | null }[]
}

export interface EvalColumn {
  readonly name: string
  readonly score: number | null
  readonly passed: number
  readonly failed: number
  readonly unscored: number
  readonly cost: number | null
  readonly difference: number | null
  readonly confidence: string | null
}

export interface EvalCell {
  readonly score: number | null
  readonly passes: boolean | null
  readonly score_before: number | null
  readonly change: 'broken' | 'worse' | 'mended' | 'better' | 'new' | 'same'
}

export interface EvalCase {
  readonly id: string
  readonly input: unknown
  readonly tags: readonly string[]
  readonly cells: readonly (EvalCell | null)[]
}

export interface EvalResult {
  readonly file: string
  readonly path: string
  readonly name: string
  readonly status: string
  readonly created_at: number
  readonly duration_ms: number
  readonly spent: number
  readonly before: { readonly file: string; readonly created_at: number } | null
  readonly problems: readonly { readonly where: string; readonly message: string }[]
  readonly columns: readonly EvalColumn[]
  readonly cases: readonly EvalCase[]
}

export interface Evals {
  readonly evals: { readonly results: readonly EvalSummary[]; readonly case_files: readonly string[] }
  readonly eval_result: EvalResult | null
}

/**
 * Reads the results, and one of them. Reads again when the window gets the focus, and while an eval runs.
 *
 * @param file empty for the latest
 * @param state of the question that starts an eval: its result may not be there yet
 */
export function useEvals(file: string, state: QuestionNews['state'] | undefined) {
  const asked = useQuery<Evals>(QUERY, { file: file || null })
  const isRunning = asked.data?.eval_result?.status === 'running'
  useEffect(() => {
    if (state) asked.reload()
    const timer = isRunning || state === 'started' ? setInterval(asked.reload, REFRESH_MS) : undefined
    addEventListener('focus', asked.reload)
    return () => {
      clearInterval(timer)
      removeEventListener('focus', asked.reload)
    }
  }, [isRunning, state, asked.reload])
  return asked
}

export interface EvalRun {
  /** Null where it has no trace. */
  readonly run_id: string | null
  readonly repeat: number
  readonly status: string
  readonly output: string
  readonly error: string | null
  readonly tools: readonly EvalToolCall[]
  readonly scores: readonly EvalScore[]
  readonly duration_ms: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number | null
}

export interface CaseRuns {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly input: unknown
  readonly expected: unknown
  readonly cells: readonly ({ readonly runs: readonly EvalRun[]; readonly runs_before: readonly EvalRun[] } | null)[]
}

/** Reads the runs of a case. */
export function useCase(file: string, id: string) {
  const { data, error } = useQuery<{ eval_result: { cases: readonly CaseRuns[] } | null }>(CASE_QUERY, { file, id })
  const found = data?.eval_result?.cases[0]
  return { found: found?.id === id ? found : undefined, error }
}

/** Input or expectation of a case as a text. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return cleanText(value)
  if (!Array.isArray(value)) return cleanText(JSON.stringify(value, null, 2) ?? '')
  const parts = value.map((each) => (isMessage(each) ? `${each.role}: ${each.content}` : JSON.stringify(each)))
  return cleanText(parts.join('\n\n'))
}

function isMessage(value: unknown): value is { readonly role: string; readonly content: string } {
  return typeof value === 'object' && value !== null && 'role' in value && 'content' in value
}
