import type { Prices } from '../../../../prices/prices.ts'
import type { ModelUsage } from '../../../../trace/calls/describe-event.ts'

/** Tokens of a model with their cost, and the size of its context; null where the price table does not say. */
export type PricedUsage = ModelUsage & { readonly cost: number | null; readonly context_window: number | null }

export function priceModels(models: readonly ModelUsage[], prices: Prices): PricedUsage[] {
  return models.map((usage) => ({
    ...usage,
    cost: prices.costOf([usage]),
    context_window: prices.contextOf(usage.model),
  }))
}
