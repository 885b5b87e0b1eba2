import type { Prices } from '../../../../prices/prices.ts'
import type { ModelUsage } from '../../../../trace/calls/describe-event.ts'

/** Tokens of a model with their cost, and the size of its context; null where the price table does not say. */
export type PricedUsage = ModelUsage & { readonly cost: number | null; readonly context_window: number | null }

/** Row with the cost of each of its models, and of all: of those with a known price, or null. */
export function withPrices<Row extends { readonly models: readonly ModelUsage[] }>(row: Row, prices: Prices) {
  return { ...row, models: priceModels(row.models, prices), cost: prices.costOf(row.models) }
}

export function priceModels(models: readonly ModelUsage[], prices: Prices): PricedUsage[] {
  return models.map((usage) => ({
    ...usage,
    cost: prices.costOf([usage]),
    context_window: prices.contextOf(usage.model),
  }))
}
