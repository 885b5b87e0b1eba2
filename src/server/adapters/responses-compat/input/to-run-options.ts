import { ANSWER_EVENTS, CALL_EVENTS, type RunOptions } from '../../../../durable/runs/run-facts.ts'
import type { Target } from '../../../../host/host.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { CreateRequest } from '../routes/schema.ts'
import { readOptions } from './request-options.ts'

export interface OptionsRequest extends Pick<RunOptions, 'variant' | 'traceparent' | 'user'> {
  readonly target: Target
  readonly dialect: Dialect
  /** Tools that the conversation has beside those of the request. */
  readonly tools: readonly ToolDefinition[]
}

/**
 * Returns what a request asks of the run that answers it.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toRunOptions(
  body: CreateRequest,
  {
    target: { agent, capabilities },
    dialect,
    tools,
    variant,
    traceparent,
    user = body.user ?? undefined,
  }: OptionsRequest,
): RunOptions {
  const { requestOptions, clientTools } = readOptions(body, tools, dialect, () => capabilities)
  const { include, instructions, metadata } = body
  return {
    instructions: instructions ?? undefined,
    user,
    metadata: metadata ?? undefined,
    traceparent,
    background: body.background ?? undefined,
    maxToolCalls: body.max_tool_calls ?? undefined,
    variant,
    requestOptions,
    clientTools,
    shows: shownEvents(body),
    isTruncated: body.truncation === 'auto' || undefined,
    sealsReasoning: include?.includes('reasoning.encrypted_content') || undefined,
    isRestartSafe: agent.isRestartSafe,
  }
}

/** Events that a client sees as items of the response: own calls and reasoning are shown to those who ask for them. */
function shownEvents({ include, reasoning }: CreateRequest): RunOptions['shows'] {
  const calls = include?.includes('agent.tool_calls') ?? false
  if (!calls && reasoning == null) return undefined
  return [...ANSWER_EVENTS, ...(calls ? CALL_EVENTS : []), ...(reasoning ? (['reasoning'] as const) : [])]
}
