import { ITERABLE, requireGiven } from '../given.ts'
import { fieldsOf } from '../json.ts'
import type { Usage } from './run.ts'

/** No tokens at all. */
export const NO_USAGE: Readonly<Usage> = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
})

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'reasoningTokens',
] as const satisfies (keyof Usage)[]

/** Adds tokens to a sum, in place. Counts that are no positive number, or beyond all that can be counted, as some servers send them, are left out. */
export function addUsage(sum: Usage, added: Partial<Usage>): void {
  for (const name of COUNTS) {
    const count = added[name] ?? 0
    if (Number.isFinite(count) && count > 0 && count <= Number.MAX_SAFE_INTEGER) sum[name] += Math.round(count)
  }
}

/**
 * Returns the sum of several usages.
 *
 * @example
 * ```ts
 * export const total = sumUsage([{ inputTokens: 10 }, { inputTokens: 5, outputTokens: 2 }])
 * // { inputTokens: 15, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 }
 * ```
 */
export function sumUsage(usages: Iterable<Partial<Usage>>): Usage {
  requireGiven(ITERABLE, usages, 'usages')
  const sum = { ...NO_USAGE }
  for (const usage of usages) addUsage(sum, fieldsOf(usage) as Partial<Usage>)
  return sum
}
