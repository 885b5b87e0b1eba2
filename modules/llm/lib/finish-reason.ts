import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { type FinishReason, fieldsOf, type LLMPart } from 'agent-host'
import { UnusableAnswer } from './ai-sdk-retry.ts'

/** Names that vendors have for a failure of their own: `error`, `MALFORMED_FUNCTION_CALL`, `insufficient_system_resource`. */
const FAILED = /error|fail|malformed|unexpected|abort|cancel|timeout|insufficient|too_many|missing/i
/** Names of the token limit that the SDK does not know: `model_length`, `model_context_window_exceeded`. */
const CUT = /length|max_tokens|window_exceeded/i

const REASONS: Readonly<Record<LanguageModelV3FinishReason['unified'], FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'other',
  other: 'other',
}

type Finish = Extract<LanguageModelV3StreamPart, { type: 'finish' }>

/**
 * Reads how an answer has ended.
 *
 * @param isEmpty true for an answer without text and calls
 * @throws UnusableAnswer for a failure of the vendor
 */
export function readFinish(
  { finishReason, providerMetadata }: Finish,
  isEmpty: boolean,
): Extract<LLMPart, { type: 'finish' }> {
  const { unified, raw = unified } = finishReason
  const saysLittle = unified === 'other' || unified === 'tool-calls'
  const reason = unified === 'other' && CUT.test(raw) ? 'length' : REASONS[unified]
  if (unified === 'error' || FAILED.test(raw) || (isEmpty && saysLittle && reason !== 'length')) {
    const { finishMessage } = fieldsOf(providerMetadata?.google)
    const words = typeof finishMessage === 'string' ? `${finishMessage}: ` : ''
    throw new UnusableAnswer(`${words}${isEmpty ? 'an empty answer' : 'the answer'} ended with '${raw}'`)
  }
  const stopSequence = Object.values(providerMetadata ?? {}).find((data) => 'stopSequence' in data)?.stopSequence
  return typeof stopSequence === 'string' ? { type: 'finish', reason, stopSequence } : { type: 'finish', reason }
}
