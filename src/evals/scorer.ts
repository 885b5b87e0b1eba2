import type { AgentHost } from '../host/host.ts'
import type { EvalToolCall } from '../wire/eval-result.ts'

/** Score of a run. */
export interface Score {
  readonly name: string
  /** From 0 to 1; null where the scorer does not judge the case. */
  readonly score: number | null
  /** Shown beside the score: a reason, for example. JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Arguments of a scorer: `input`, `output` and `expected` as `autoevals` names them, and more about the run. */
export interface ScorerArguments {
  /** As the row has it; of a row with a tape and no input, the question on the tape. */
  readonly input: unknown
  /** Text of the answer. */
  readonly output: string
  /** As the row has it. */
  readonly expected?: unknown
  readonly id: string
  readonly tags: readonly string[]
  /** Calls of tools that the row expects; undefined where it expects none in particular. */
  readonly expectedTools: readonly EvalToolCall[] | undefined
  /** Calls that the row expects the run to wait for; undefined where it expects none in particular. */
  readonly expectedWaits: readonly EvalToolCall[] | undefined
  readonly run: ScoredRun
  /** Aborts after 30 seconds, and when the eval is stopped. */
  readonly signal: AbortSignal
  /** A host of the project without agents: a scorer may register its own. */
  readonly host: AgentHost
}

/** Run that is scored. */
export interface ScoredRun {
  readonly agent: string
  readonly status: 'completed' | 'waiting'
  /** Calls of the agent's tools in their order, those that it waits for included. */
  readonly tools: readonly EvalToolCall[]
  /** Those that it waits for. */
  readonly waits: readonly EvalToolCall[]
  readonly durationMs: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars; null where the price of a model is unknown. */
  readonly cost: number | null
  /** True where the model answered from a tape: its time says nothing. */
  readonly isPlayed: boolean
}

/** Judges a run. Null says that it does not judge the case. */
export type Scorer = (given: ScorerArguments) => Score | null | Promise<Score | null>
