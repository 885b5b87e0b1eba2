import type { Usage } from '../../../protocols/run.ts'
import type { RunResult } from '../../../run/turn.ts'
import type { PendingCall } from '../../../run/waiting/pending-call.ts'
import type { AnsweredCall, ChatCompletion } from './schema.ts'

/** Facts that everything sent for one request repeats. */
export interface Completion {
  readonly id: string
  readonly created: number
  /** Model name from the request. */
  readonly model: string
}

/** Answer of an agent: of several runs, where it waits. */
export interface Reply {
  text: string
  reasoning: string
}

/** Part of a run's result that a completion contains. */
export type Ending = Pick<RunResult, 'usage' | 'incompleteReason' | 'pending'>

type FinishReason = ChatCompletion['choices'][number]['finish_reason']

export function toCompletion({ id, created, model }: Completion, answer: Reply, ending: Ending): ChatCompletion {
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message: toMessage(answer, ending), finish_reason: toFinishReason(ending) }],
    usage: toUsage(ending.usage),
  }
}

function toMessage({ text, reasoning }: Reply, { pending }: Ending): ChatCompletion['choices'][number]['message'] {
  const calls = pending.filter(isClientCall)
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? undefined : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? undefined : { tool_calls: calls.map(toToolCall) }),
  }
}

export function toToolCall({ callId, name, client, arguments: args }: PendingCall): AnsweredCall {
  if (client?.isCustom) return { id: callId, type: 'custom', custom: { name, input: String(args.input) } }
  return { id: callId, type: 'function', function: { name, arguments: JSON.stringify(args) } }
}

export function isClientCall({ kind }: PendingCall): boolean {
  return kind === 'client_tool'
}

/** Reasons by which modules mark an answer that is not complete, in the terms of this API; any other is a plain `stop`. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'content_filter',
}

export function toFinishReason({ incompleteReason, pending }: Ending): FinishReason {
  if (pending.some(isClientCall)) return 'tool_calls'
  return FINISH_REASONS[incompleteReason ?? ''] ?? 'stop'
}

export function toUsage({
  inputTokens,
  outputTokens,
  cachedInputTokens,
  reasoningTokens,
}: Readonly<Usage>): ChatCompletion['usage'] {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens > 0 ? { prompt_tokens_details: { cached_tokens: cachedInputTokens } } : undefined),
    ...(reasoningTokens > 0 ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } } : undefined),
  }
}
