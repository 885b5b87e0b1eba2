import { withoutUnseen } from '../../../../durable/conversations/without-unseen.ts'
import type { AgentHost } from '../../../../host/host.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { CreateRequest } from '../routes/schema.ts'
import { readOptions } from './request-options.ts'

export interface TurnRequest {
  readonly runId: string
  readonly tenant: string
  readonly body: CreateRequest
  /** Of the agent, where the request names one. */
  readonly variant: Turn['variant']
  readonly dialect: Dialect
  /** Trace context of the request. */
  readonly traceparent: string | undefined
  /** Tools that the conversation has beside those of the request. */
  readonly added: readonly ToolDefinition[]
  /** The whole conversation, the message to handle included. */
  readonly messages: readonly Message[]
}

/**
 * Turn of the agent that a request names.
 *
 * @throws HostError `AGENT_NOT_FOUND`, or `REQUEST_INVALID` naming the field
 */
export function toTurn(
  host: AgentHost,
  { runId, tenant, body, variant, added, messages, dialect, traceparent }: TurnRequest,
): Turn {
  const { instructions, user, metadata } = body
  const { capabilities } = host.resolve(body.model)
  const options = readOptions(body, added, dialect, () => capabilities)
  return {
    runId,
    messages: withoutUnseen(messages, capabilities.attachments),
    instructions: instructions ?? undefined,
    user: user ?? undefined,
    // A job without a tenant is stored as before there were any.
    tenant: tenant || undefined,
    metadata: metadata ?? undefined,
    traceparent,
    background: body.background === true,
    maxToolCalls: body.max_tool_calls ?? undefined,
    variant,
    ...options,
  }
}
