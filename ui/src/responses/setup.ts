import type { Column } from './column.ts'

/** Conversation of a model call, which stands before the first question of a thread. */
export interface Seed {
  readonly runId: string
  /** System prompt that the model was sent. */
  readonly system: string
  /** Items of the responses API. */
  readonly items: readonly object[]
  /** Names of the tools that the model was offered. */
  readonly tools: readonly string[]
}

/** Beginning of a thread that is too large for an address. */
export interface Setup {
  readonly columns: readonly Column[]
  readonly seed?: Seed
  /** The columns have the values that the agent had in the run of the seed. */
  readonly isReady?: boolean
}

/** Model call as a run page shows it. */
interface SeenCall {
  readonly model: string
  readonly runId: string
  readonly messages: readonly SeenMessage[]
  readonly tools: readonly { readonly name: string }[]
  readonly parameters: Readonly<Record<string, unknown>>
}

interface SeenMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[]
  readonly toolCallId: string
}

/** Options of a request to a model, by their names in the responses API. */
const OPTIONS: Readonly<Record<string, string>> = {
  topP: 'top_p',
  maxOutputTokens: 'max_output_tokens',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  parallelToolCalls: 'parallel_tool_calls',
}

/** Begins a thread where a model call began: with its system prompt, messages, tools and parameters. */
export function setupOfCall({ model, runId, messages, tools, parameters }: SeenCall): Setup {
  const { temperature, reasoningEffort } = parameters
  const named = Object.entries(OPTIONS).flatMap(([name, field]) =>
    parameters[name] === undefined ? [] : [[field, parameters[name]]],
  )
  const reasoning = typeof reasoningEffort === 'string' ? [['reasoning', { effort: reasoningEffort }]] : []
  const options = Object.fromEntries([...named, ...reasoning]) as Record<string, unknown>
  const column: Column = {
    model,
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(Object.keys(options).length > 0 ? { options } : {}),
  }
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  const items = messages.slice(0, Math.max(last, 0)).flatMap(toItems)
  return {
    columns: [column],
    seed: { runId, system: system.join('\n\n'), items, tools: tools.map(({ name }) => name) },
  }
}

function toItems({ role, content, toolCalls, toolCallId }: SeenMessage): object[] {
  if (role === 'system') return []
  if (role === 'tool') return [{ type: 'function_call_output', call_id: toolCallId, output: content }]
  const said = content === '' ? [] : [{ type: 'message', role, content }]
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: JSON.stringify(args),
  }))
  return [...said, ...calls]
}
