import type { Attributes } from '@opentelemetry/api'
import { fieldsOf } from '../json.ts'
import type { LLMPart, LLMRequest } from '../protocols/llm.ts'
import type { AgentEvent } from '../run/calls/agent-events.ts'
import { endingOf } from '../run/run-ending.ts'
import type { RunEnd } from '../run/turn.ts'
import { isWaitingResult } from '../run/waiting/waits-for.ts'
import { usageOf } from '../trace/calls/describe-event.ts'

/** Operation of a call with a name in the semantic conventions for generative AI. */
export type Operation = 'chat' | 'execute_tool'

/** A run or a call as a span shows it, without content: no prompts, answers, arguments or results. */
export interface SpanDescription {
  readonly name: string
  readonly attributes: Attributes
}

export interface CallDescription extends SpanDescription {
  readonly operation: Operation | undefined
}

const MAX_NAME_CHARS = 64

/** A run, by its first event. https://github.com/open-telemetry/semantic-conventions-genai, and `agent_host.*` for everything else. */
export function toRunSpan({ agent_id, run_id, entry_point }: AgentEvent): SpanDescription {
  return {
    name: `invoke_agent ${agent_id}`,
    attributes: defined({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent_id,
      'agent_host.run_id': run_id,
      'agent_host.entry_point': entry_point,
    }),
  }
}

/** Returns the attributes of a run that has ended. */
export function toEndAttributes(end: RunEnd): Attributes {
  return defined({
    'agent_host.status': endingOf(end),
    'agent_host.incomplete': end.incompleteReason,
    'agent_host.first_text_ms': end.firstTextMs,
  })
}

/** A call of a module by the agent, or by another module. */
export function toCallSpan(event: AgentEvent): CallDescription {
  const { agent_id, module_id, method_name, run_id, entry_point } = event
  const operation = operationOf(event)
  const { name, attributes } = operation
    ? OPERATIONS[operation](event)
    : { name: `${module_id}.${method_name}`, attributes: {} }
  return {
    name,
    operation,
    attributes: defined({
      'gen_ai.operation.name': operation,
      'gen_ai.agent.name': operation && agent_id,
      ...attributes,
      'agent_host.run_id': run_id,
      'agent_host.entry_point': entry_point,
      'agent_host.module_id': module_id,
      'agent_host.module': referenceOf(event),
    }),
  }
}

/** Returns the attributes of a call that has ended well, or because its run waits. */
export function toResultAttributes(operation: Operation | undefined, { result, model }: AgentEvent): Attributes {
  if (isWaitingResult(result)) {
    return { 'agent_host.status': endingOf({ status: 'waiting', pending: result.waits_for }) }
  }
  if (operation === 'chat' && Array.isArray(result)) return toAnswerAttributes(result as readonly LLMPart[], model)
  if (operation === 'execute_tool' && fieldsOf(result).isError === true) {
    return { 'error.type': 'tool_error' }
  }
  return {}
}

function operationOf({ protocol, method_name, model }: AgentEvent): Operation | undefined {
  if (model) return 'chat'
  return protocol === 'ToolProvider' && method_name === 'executeTool' ? 'execute_tool' : undefined
}

const OPERATIONS: Readonly<Record<Operation, (event: AgentEvent) => SpanDescription>> = {
  chat: toChatSpan,
  execute_tool: toToolSpan,
}

function toChatSpan({ arguments: given, model }: AgentEvent): SpanDescription {
  const request = given?.args[0] as Partial<LLMRequest> | undefined
  return {
    name: model?.name ? `chat ${model.name}` : 'chat',
    attributes: {
      'gen_ai.provider.name': model?.provider ?? undefined,
      'gen_ai.request.model': model?.name ?? undefined,
      ...toRequestAttributes(request),
    },
  }
}

function toToolSpan({ arguments: given, tool_call_id }: AgentEvent): SpanDescription {
  const tool = String(given?.args[0]).slice(0, MAX_NAME_CHARS)
  return {
    name: `execute_tool ${tool}`,
    attributes: {
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': tool_call_id?.slice(0, MAX_NAME_CHARS),
    },
  }
}

function toRequestAttributes(request: Partial<LLMRequest> = {}): Attributes {
  return {
    'gen_ai.request.stream': true,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.top_p': request.topP,
    'gen_ai.request.max_tokens': request.maxOutputTokens,
    'gen_ai.request.seed': request.seed,
    'gen_ai.request.presence_penalty': request.presencePenalty,
    'gen_ai.request.frequency_penalty': request.frequencyPenalty,
    'gen_ai.output.type': request.responseSchema && 'json',
  }
}

function toAnswerAttributes(parts: readonly LLMPart[], model: AgentEvent['model']): Attributes {
  const usage = usageOf(parts)
  const finishes = parts.flatMap((part) => (part?.type === 'finish' ? [part] : []))
  return defined({
    'gen_ai.request.model': model?.name ?? usage?.model,
    'gen_ai.response.model': finishes.at(-1)?.model ?? usage?.model ?? model?.name,
    'gen_ai.usage.input_tokens': usage?.input_tokens,
    'gen_ai.usage.output_tokens': usage?.output_tokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cached_input_tokens || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoning_tokens || undefined,
    'gen_ai.response.finish_reasons': finishes.length > 0 ? finishes.map(({ reason }) => String(reason)) : undefined,
  })
}

/** The first part of an event's name. It may hold dots itself. */
function referenceOf({ event_name, module_class, method_name, event_type }: AgentEvent): string {
  return event_name.slice(0, -`.${module_class}.${method_name}.${event_type}`.length)
}

function defined(attributes: Readonly<Record<string, Attributes[string] | null>>): Attributes {
  const known = Object.entries(attributes).filter(([, value]) => value != null)
  return Object.fromEntries(known) as Attributes
}
