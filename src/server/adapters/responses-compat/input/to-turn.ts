import type { AgentHost } from '../../../../host/host.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { CreateRequest } from '../routes/schema.ts'
import { readOptions } from './request-options.ts'
import { withoutUnseen } from './to-messages.ts'

/**
 * Turn of the agent that a request names.
 *
 * @param messages the whole conversation, the message to handle included
 * @throws HostError `AGENT_NOT_FOUND`, or `REQUEST_INVALID` naming the field
 */
export function toTurn(host: AgentHost, runId: string, body: CreateRequest, messages: readonly Message[]): Turn {
  const { instructions, user, metadata } = body
  const options = readOptions(body)
  const { capabilities } = host.resolve(body.model)
  return {
    runId,
    messages: withoutUnseen(messages, capabilities.attachments),
    instructions: instructions ?? undefined,
    user: user ?? undefined,
    metadata: metadata ?? undefined,
    background: body.background === true,
    ...options,
  }
}
