import type { Usage } from '../../../../protocols/run.ts'
import type { TokenUsage } from '../routes/schema.ts'

/** Usage of a run in the words of this API. */
export function toTokenUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): TokenUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
