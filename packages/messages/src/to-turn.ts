import type { AdapterOptions, ClientChoice, ModelOptions, ToolDefinition, Turn } from 'agent-host'
import { invalid } from './errors.ts'
import { isServerTool } from './ignored.ts'
import type { MessageRequest, ToolChoice, WireTool } from './schema.ts'
import { type Reading, toMessages } from './to-messages.ts'

type ChooseTools = AdapterOptions['http']['chooseTools']

/**
 * The turn that a request asks for. Its trail is not kept: the client sends the whole conversation each time.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export async function toTurn(
  body: MessageRequest,
  agent: string,
  chooseTools: ChooseTools,
  reading: Reading,
): Promise<Turn> {
  const { tools, tool_choice: choice } = body
  const { clientTools, toolChoice } =
    tools || choice ? chooseTools(agent, toClientTools(tools ?? []), toChoice(choice)) : NO_TOOLS
  return {
    messages: await toMessages(body, reading),
    user: body.metadata?.user_id ?? undefined,
    requestOptions: toRequestOptions(body, toolChoice),
    clientTools,
    isTrailLost: true,
  }
}

const NO_TOOLS: Partial<ReturnType<ChooseTools>> = Object.freeze({})

function toClientTools(tools: readonly WireTool[]): ToolDefinition[] {
  return tools.flatMap((tool, index) => (isServerTool(tool) ? [] : [toClientTool(tool, `tools[${index}]`)]))
}

/** Tools whose schema only the vendor knows (`bash_*`, `text_editor_*`) cannot be shown to any model. */
function toClientTool({ type, name, description = '', input_schema, strict }: WireTool, field: string): ToolDefinition {
  if ((type ?? 'custom') !== 'custom')
    throw invalid(`${field}.type`, `'${type}' is not served: send name and input_schema`)
  if (name === undefined || !/^[\w-]{1,128}$/.test(name))
    throw invalid(`${field}.name`, 'must be letters, digits, _ and -')
  if (input_schema === undefined) throw invalid(`${field}.input_schema`, 'is missing')
  const tool = { name, description, parameters: { ...input_schema } }
  return strict === undefined ? tool : { ...tool, strict }
}

function toChoice(choice: ToolChoice | undefined): ClientChoice {
  if (choice === undefined || choice.type === 'auto') return 'auto'
  if (choice.type === 'tool') return { tool: choice.name }
  return choice.type === 'any' ? 'required' : 'none'
}

function toRequestOptions(body: MessageRequest, toolChoice: ModelOptions['toolChoice']): ModelOptions {
  const { temperature, top_p: topP, max_tokens: maxOutputTokens, stop_sequences: stop, tool_choice: choice } = body
  const format = body.output_config?.format ?? undefined
  const isSingle = choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true
  const options = {
    temperature,
    topP,
    maxOutputTokens,
    stop: stop?.length ? stop : undefined,
    toolChoice,
    parallelToolCalls: isSingle ? false : undefined,
    reasoningEffort: toEffort(body),
    responseSchema: format && { ...format.schema },
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** Budgets of thinking, in tokens, from which on an effort counts. */
const EFFORTS: readonly (readonly [minTokens: number, effort: string])[] = [
  [16_000, 'high'],
  [4_000, 'medium'],
  [0, 'low'],
]

function toEffort({ thinking, output_config }: MessageRequest): string | undefined {
  if (typeof output_config?.effort === 'string') return output_config.effort
  const budget = thinking?.type === 'enabled' ? (thinking.budget_tokens ?? 0) : undefined
  return budget === undefined ? undefined : EFFORTS.find(([minTokens]) => budget >= minTokens)?.[1]
}
