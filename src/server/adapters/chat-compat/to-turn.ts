import { Value } from 'typebox/value'
import type { ToolDefinition } from '../../../protocols/tool-definition.ts'
import type { Capabilities } from '../../../run/agent/agent-capabilities.ts'
import type { RunEventSink } from '../../../run/run-event.ts'
import type { Turn } from '../../../run/turn.ts'
import { type ClientChoice, chooseTools } from '../../bodies/choose-tools.ts'
import { toClientTool } from '../../bodies/client-tool.ts'
import { readMessages } from '../../bodies/read-messages.ts'
import type { Dialect } from '../../replies/dialect.ts'
import { isApprovalTool, toolNameOf, withoutApprovals } from './approvals.ts'
import { refuseUnsupported } from './refuse-unsupported.ts'
import { type ChatRequest, ToolChoice } from './schema.ts'
import { toRequestOptions } from './to-request-options.ts'

export interface TurnOptions {
  readonly dialect: Dialect
  /** Tenant of the request. */
  readonly tenant: string
  /** User of the request, in place of the one that its body names. */
  readonly user: string | undefined
  /** Of the agent, where the request names one. */
  readonly variant?: Turn['variant']
  /** Trace context of the request. */
  readonly traceparent: string | undefined
  /** Returns those of the agent; called only where the request needs them. */
  readonly findCapabilities: () => Capabilities
  readonly onEvent: RunEventSink
}

/**
 * The turn that a request asks for. Its trail is not kept: the client sends the whole conversation each time.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toTurn(
  body: ChatRequest,
  { dialect, tenant, user, variant, traceparent, findCapabilities, onEvent }: TurnOptions,
): Turn {
  const { messages, metadata, tools, tool_choice } = body
  refuseUnsupported(body)
  const { clientTools, toolChoice } =
    tools || tool_choice
      ? chooseTools(toClientTools(tools), toChoice(tool_choice), dialect, findCapabilities)
      : NO_TOOLS
  return {
    messages: readMessages(withoutApprovals(messages), findCapabilities),
    user: user ?? body.user ?? undefined,
    tenant,
    metadata: metadata ?? undefined,
    traceparent,
    requestOptions: toRequestOptions(body, toolChoice),
    clientTools,
    isTrailLost: true,
    variant,
    onEvent,
  }
}

const NO_TOOLS: Partial<ReturnType<typeof chooseTools>> = Object.freeze({})

function toClientTools(given: ChatRequest['tools']): ToolDefinition[] {
  const tools = (given ?? []).flatMap((tool, index) => {
    const fields = tool.type === 'custom' ? tool.custom : tool.function
    return toClientTool(tool.type, fields, `tools[${index}].${tool.type}`) ?? []
  })
  return tools.filter((tool) => !isApprovalTool(tool))
}

function toChoice(choice: ChatRequest['tool_choice']): ClientChoice {
  if ((choice ?? 'auto') === 'auto' || !Value.Check(ToolChoice, choice)) return 'auto'
  if (typeof choice === 'string') return choice
  if (choice.type !== 'allowed_tools') return { tool: toolNameOf(choice) }
  const { mode, tools } = choice.allowed_tools
  return { mode, names: tools.map(toolNameOf) }
}
