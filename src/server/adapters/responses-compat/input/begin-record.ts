import { toTokenUsage } from '../output/token-usage.ts'
import type { CreateRequest, ResponseRecord } from '../routes/schema.ts'

/** The record of a response that begins now, with every field and default. */
export function beginRecord(body: CreateRequest, id: string, createdAt: number): ResponseRecord {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    background: body.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    ...(body.conversation ? { conversation: { id: conversationIdOf(body.conversation) } } : {}),
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: body.reasoning ? { effort: null, summary: null, ...body.reasoning } : null,
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { ...body.text, format: body.text?.format ?? { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).map(toTool),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    truncation: body.truncation ?? 'disabled',
    usage: NO_USAGE,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  }
}

export function conversationIdOf(conversation: NonNullable<CreateRequest['conversation']>): string {
  return typeof conversation === 'string' ? conversation : conversation.id
}

export const NO_USAGE = toTokenUsage({ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 })

/** Readers of the Open Responses schema want every field of a function. */
function toTool(tool: Record<string, unknown>): Record<string, unknown> {
  return tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool
}
