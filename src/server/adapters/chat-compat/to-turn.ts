import { HostError } from '../../../errors.ts'
import type { ToolDefinition } from '../../../protocols/tool-definition.ts'
import type { RunEventSink } from '../../../run/run-event.ts'
import type { Capabilities, Turn } from '../../../run/turn.ts'
import { withoutApprovals, withoutApprovalTool } from './approvals.ts'
import type { ChatRequest } from './schema.ts'
import { toMessages } from './to-messages.ts'
import { toRequestOptions } from './to-request-options.ts'

/**
 * The turn that a request asks for. Nobody keeps its trail: the client sends the whole conversation each time.
 *
 * @param findCapabilities gives those of the agent; called only where the request needs them
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toTurn(body: ChatRequest, findCapabilities: () => Capabilities, onEvent: RunEventSink): Turn {
  const { messages, user, metadata } = body
  return {
    messages: toMessages(withoutApprovals(messages), findCapabilities),
    user: user ?? undefined,
    metadata: metadata ?? undefined,
    requestOptions: toRequestOptions(body),
    clientTools: toClientTools(body),
    isTrailLost: true,
    onEvent,
  }
}

/** None with the choice `none`, which speaks of the client's tools: the agent's own are no business of the client. */
function toClientTools({ tools: given, tool_choice }: ChatRequest): ToolDefinition[] | undefined {
  const tools = withoutApprovalTool(given)
  const choice = tool_choice ?? 'auto'
  const name = typeof choice === 'object' ? choice.function.name : undefined
  const isKnown = name === undefined ? tools?.length : tools?.some((tool) => tool.function.name === name)
  if (choice !== 'auto' && choice !== 'none' && !isKnown) {
    const message =
      name === undefined ? 'tool_choice needs tools.' : `tool_choice: there is no tool '${name}' in tools.`
    throw new HostError('REQUEST_INVALID', message, { field: 'tool_choice' })
  }
  if (!tools || tools.length === 0 || choice === 'none') return undefined
  return tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? '',
    parameters: parameters ?? NO_PARAMETERS,
  }))
}

const NO_PARAMETERS = Object.freeze({ type: 'object', properties: Object.freeze({}) })
