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

/** Usage of what came before a run and of the run. */
export function addTokenUsage(before: TokenUsage, own: Usage): TokenUsage {
  if (before.total_tokens === 0) return toTokenUsage(own)
  return toTokenUsage({
    inputTokens: before.input_tokens + own.inputTokens,
    outputTokens: before.output_tokens + own.outputTokens,
    cachedInputTokens: before.input_tokens_details.cached_tokens + own.cachedInputTokens,
    reasoningTokens: before.output_tokens_details.reasoning_tokens + own.reasoningTokens,
  })
}
