import type { Attributes } from '@opentelemetry/api'
import type { LLMPart } from '../protocols/llm.ts'
import type { Usage } from '../protocols/run.ts'
import type { AgentEvent } from '../run/calls/call-event.ts'

/** Operation with a name in the semantic conventions for generative AI. */
export type Operation = 'invoke_agent' | 'chat' | 'execute_tool'

/** A call as a span shows it, without content: no prompts, answers, arguments or results. */
export interface CallDescription {
  readonly name: string
  readonly operation: Operation | undefined
  readonly attributes: Attributes
}

const MAX_NAME_CHARS = 64

/** https://opentelemetry.io/docs/specs/semconv/gen-ai/, and `agent_host.*` for everything else. */
export function describeCall(event: AgentEvent): CallDescription {
  const { agent_id, module_id, method_name, run_id, entry_point } = event
  const operation = operationOf(event)
  const [first] = event.arguments?.args ?? []
  const toolName = operation === 'execute_tool' ? String(first).slice(0, MAX_NAME_CHARS) : undefined
  const subjects = { invoke_agent: agent_id, chat: undefined, execute_tool: toolName }
  return {
    name: operation ? [operation, subjects[operation]].filter(Boolean).join(' ') : `${module_id}.${method_name}`,
    operation,
    attributes: defined({
      'gen_ai.operation.name': operation,
      'gen_ai.agent.id': operation && agent_id,
      'gen_ai.agent.name': operation && agent_id,
      'gen_ai.tool.name': toolName,
      ...(operation === 'chat' ? describeRequest(first) : {}),
      'agent_host.run_id': run_id,
      'agent_host.entry_point': entry_point,
      'agent_host.module_id': module_id,
      'agent_host.module': referenceOf(event),
    }),
  }
}

/** Returns the attributes of a call that has ended well. */
export function describeResult(operation: Operation | undefined, result: unknown): Attributes {
  if (operation === 'chat' && Array.isArray(result)) return describeAnswer(result as readonly LLMPart[])
  if (operation === 'execute_tool' && (result as { isError?: unknown } | null)?.isError === true) {
    return { 'error.type': 'tool_error' }
  }
  return {}
}

/** An event names a method, not its protocol: its arguments distinguish models and tools from others. */
function operationOf(event: AgentEvent): Operation | undefined {
  const { agent_id, caller_id, parent_call_id, method_name } = event
  if (parent_call_id === null && caller_id === `agent:${agent_id}`) return 'invoke_agent'
  const [first] = event.arguments?.args ?? []
  if (method_name === 'executeTool' && typeof first === 'string') return 'execute_tool'
  const isAboutMessages = Array.isArray((first as { messages?: unknown } | null | undefined)?.messages)
  return method_name === 'generate' && isAboutMessages ? 'chat' : undefined
}

function describeRequest(request: unknown): Attributes {
  const { temperature, maxOutputTokens } = request as { temperature?: unknown; maxOutputTokens?: unknown }
  return {
    'gen_ai.request.temperature': typeof temperature === 'number' ? temperature : undefined,
    'gen_ai.request.max_tokens': typeof maxOutputTokens === 'number' ? maxOutputTokens : undefined,
  }
}

function describeAnswer(parts: readonly LLMPart[]): Attributes {
  const usages = parts.flatMap((part) => (part?.type === 'usage' ? [part.usage] : []))
  const sum = (name: keyof Usage) => usages.reduce((total, usage) => total + (usage?.[name] ?? 0), 0)
  const reasons = parts.flatMap((part) => (part?.type === 'finish' ? [String(part.reason)] : []))
  return defined({
    'gen_ai.usage.input_tokens': usages.length > 0 ? sum('inputTokens') : undefined,
    'gen_ai.usage.output_tokens': usages.length > 0 ? sum('outputTokens') : undefined,
    'gen_ai.usage.cache_read.input_tokens': sum('cachedInputTokens') || undefined,
    'gen_ai.usage.reasoning.output_tokens': sum('reasoningTokens') || undefined,
    'gen_ai.response.finish_reasons': reasons.length > 0 ? reasons : undefined,
  })
}

/** The first part of an event's name. It may hold dots itself. */
function referenceOf({ event_name, module_class, method_name, event_type }: AgentEvent): string {
  return event_name.slice(0, -`.${module_class}.${method_name}.${event_type}`.length)
}

function defined(attributes: Readonly<Record<string, Attributes[string] | null>>): Attributes {
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(known) as Attributes
}
