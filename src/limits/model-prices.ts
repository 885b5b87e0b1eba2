import { HostError } from '../errors.ts'
import { Prices } from '../prices/prices.ts'
import type { Log } from '../protocols/log.ts'
import type { Usage } from '../protocols/run.ts'

/** Prices of models, for those whose cost is limited: read at the first use. */
export class ModelPrices {
  readonly #projectDir: string
  readonly #log: Log
  #prices: Prices | undefined

  constructor(projectDir: string, log: Log) {
    this.#projectDir = projectDir
    this.#log = log
  }

  /** Returns US dollars; null for a model without a price. Cached tokens without a price of their own cost as much as others. */
  async costOf(usage: Partial<Usage>, model = ''): Promise<number | null> {
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = usage
    if (inputTokens + outputTokens === 0) return 0
    this.#prices ??= new Prices(this.#projectDir, this.#log)
    await this.#prices.refresh()
    const tokens = { model, input_tokens: inputTokens, output_tokens: outputTokens, reasoning_tokens: reasoningTokens }
    const exact = this.#prices.costOf([{ ...tokens, cached_input_tokens: cachedInputTokens }])
    return exact ?? this.#prices.costOf([{ ...tokens, cached_input_tokens: 0 }])
  }

  /** Error of a model without a price. */
  unknown(model = 'of no name'): HostError {
    const message = `The model '${model}' has no price, and the cost of its sender is limited.`
    return new HostError('OPTION_INVALID', message, { suggestions: [this.advice(model)] })
  }

  advice(model: string): string {
    return `Add it to prices.yml, in US dollars per million tokens: ${model}: { input: 2, output: 8 }`
  }
}
