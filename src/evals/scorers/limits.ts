import { NUMBER, object, requireGiven } from '../../given.ts'
import type { Scorer } from '../scorer.ts'

/** 1 up to a time in milliseconds, less beyond it. Does not judge runs whose model answers from a tape. */
export function latency(limit: { readonly maxMs: number }): Scorer {
  requireGiven(object({ maxMs: NUMBER }), limit, 'limit')
  const { maxMs } = limit
  return ({ run }) => (run.isPlayed ? null : within('latency', run.durationMs, maxMs))
}

/** 1 up to a number of tokens, those of the question and the answer together; less beyond it. */
export function tokens(limit: { readonly max: number }): Scorer {
  requireGiven(object({ max: NUMBER }), limit, 'limit')
  const { max } = limit
  return ({ run }) => within('tokens', run.inputTokens + run.outputTokens, max)
}

/**
 * 1 up to an amount of US dollars, less beyond it.
 *
 * @returns a scorer that fails where the price of a model is unknown
 */
export function cost(limit: { readonly maxUsd: number }): Scorer {
  requireGiven(object({ maxUsd: NUMBER }), limit, 'limit')
  const { maxUsd } = limit
  return ({ run }) => {
    if (run.cost === null) throw new Error('The price of a model is unknown: write it in prices.yml.')
    return within('cost', run.cost, maxUsd)
  }
}

function within(name: string, value: number, max: number): ReturnType<Scorer> {
  return { name, score: value <= max ? 1 : max / value, metadata: { value, max } }
}
