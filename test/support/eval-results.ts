import type { EvalResult, EvalRun } from '../../src/wire/eval-result.ts'

/** Run of a case that is right: what a test does not name. */
export function evalRun(id: string, rest: Partial<EvalRun> = {}): EvalRun {
  return {
    case: id,
    column: 0,
    repeat: 1,
    run_id: null,
    status: 'completed',
    output: '',
    error: null,
    tools: [],
    is_played: false,
    duration_ms: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost: 0,
    scores: [{ name: 'exact', score: 1 }],
    score: 1,
    ...rest,
  }
}

/** Result of these runs, of agent `a`. */
export function evalResult(runs: readonly EvalRun[], rest: Partial<EvalResult> = {}): EvalResult {
  const ids = [...new Set(runs.map((run) => run.case))]
  return {
    eval_result: 1,
    agent_host: '',
    name: 'x',
    status: 'complete',
    created_at: 0,
    duration_ms: 0,
    spent: 0,
    request: { files: [], agents: [], variants: [], repeat: 1, filter: [], live: [] },
    columns: [{ name: 'a', agent: 'a', version: null, changes: [] }],
    cases: ids.map((id) => ({ id, file: 'evals/x.jsonl', line: 1, input: '', tags: [], tape: null, digest: 'd' })),
    runs: [...runs],
    problems: [],
    ...rest,
  }
}
