import type { TSchema } from 'typebox'
import type { Scorer } from '../scorer.ts'
import { contains } from './contains.ts'
import { exact } from './exact.ts'
import { type JudgeOptions, judge } from './judge.ts'
import { cost, latency, tokens } from './limits.ts'
import { schema } from './schema.ts'
import { tools, toolsInAnyOrder } from './tools.ts'

/** Built-in scorers, and functions that make one. */
export interface Scorers {
  /** 1 if the answer is the expected text, up to blanks around it; for anything but a text, if it is JSON of the same value. */
  readonly exact: Scorer
  /** Share of the expected texts (one, or a list) that the answer contains, in any case of letters. */
  readonly contains: Scorer
  /**
   * Share of the calls of tools that are as the row expects them (`expected_tools`), by name, arguments and order. An expected call
   * without arguments takes any. A call that is not expected counts against the run.
   */
  readonly tools: Scorer
  /** As `tools`, in any order. */
  readonly toolsInAnyOrder: Scorer
  /** 1 if the answer is JSON that matches a JSON Schema. */
  readonly schema: (wanted: TSchema | Readonly<Record<string, unknown>>) => Scorer
  /** 1 up to a time in milliseconds, less beyond it. Does not judge runs whose model answers from a tape. */
  readonly latency: (limit: { readonly maxMs: number }) => Scorer
  /** 1 up to a number of tokens, those of the question and the answer together; less beyond it. */
  readonly tokens: (limit: { readonly max: number }) => Scorer
  /** 1 up to an amount of US dollars, less beyond it. The scorer fails where the price of a model is unknown. */
  readonly cost: (limit: { readonly maxUsd: number }) => Scorer
  /** Has a model judge the answer. Its prompt is that of the module `evals/judge`, which can be ejected. */
  readonly judge: (options: JudgeOptions) => Scorer
}

/**
 * Built-in scorers: `exact`, `contains`, `tools` and `toolsInAnyOrder` as they are, the others made with their options.
 *
 * @example
 * ```ts
 * export const isShort: Scorer = ({ output }) => ({ name: 'isShort', score: output.length <= 200 ? 1 : 0 })
 * export const isFast: Scorer = scorers.latency({ maxMs: 2000 })
 * ```
 */
export const scorers: Scorers = Object.freeze({
  exact,
  contains,
  tools,
  toolsInAnyOrder,
  schema,
  latency,
  tokens,
  cost,
  judge,
})
