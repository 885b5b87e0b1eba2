import { HostError } from '../../../errors.ts'
import type { ModelOptions } from '../../../protocols/model-options.ts'
import type { ToolDefinition } from '../../../protocols/tool-definition.ts'
import type { CreateRequest } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the options for the model that a request sets; none that it leaves out.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toRequestOptions(body: CreateRequest, tools: readonly ToolDefinition[]): ModelOptions {
  const options: Record<keyof ModelOptions, unknown> = {
    toolChoice: tools.length > 0 ? toToolChoice(body.tool_choice, tools) : undefined,
    temperature: body.temperature,
    topP: body.top_p,
    maxOutputTokens: body.max_output_tokens,
    stop: undefined,
    seed: undefined,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    reasoningEffort: body.reasoning?.effort,
    parallelToolCalls: tools.length > 0 ? body.parallel_tool_calls : undefined,
    responseSchema: toResponseSchema(body.text?.format),
  }
  const given: Record<string, unknown> = {}
  for (const name in options) {
    const value = options[name as keyof ModelOptions] ?? undefined
    if (value !== undefined) given[name] = value
  }
  return given
}

/** Returns the functions of a request, which its client runs itself. Tools of other types are ignored. */
export function toClientTools({ tools, tool_choice }: CreateRequest): ToolDefinition[] {
  const functions = (tools ?? []).flatMap((tool, index) => (tool.type === 'function' ? [toTool(tool, index)] : []))
  if (typeof tool_choice !== 'object' || tool_choice?.type !== 'allowed_tools') return functions
  const allowed = new Set((tool_choice.tools as Fields[] | undefined)?.map(({ name }) => name))
  return functions.filter(({ name }) => allowed.has(name))
}

function toTool({ name, description, parameters }: Fields, index: number): ToolDefinition {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new HostError('REQUEST_INVALID', `tools[${index}].name must be 1 to 64 letters, digits, _ or -`)
  }
  if (parameters !== undefined && parameters !== null && typeof parameters !== 'object') {
    throw new HostError('REQUEST_INVALID', `tools[${index}].parameters must be a JSON Schema`)
  }
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: (parameters as Fields | null | undefined) ?? { type: 'object', properties: {} },
  }
}

function toToolChoice(
  choice: CreateRequest['tool_choice'],
  tools: readonly ToolDefinition[],
): ModelOptions['toolChoice'] | undefined {
  if (choice === 'none' || choice === 'required') return choice
  if (typeof choice !== 'object' || choice === null) return undefined
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? 'required' : undefined
  const tool = choice.name
  if (choice.type !== 'function') return undefined
  if (typeof tool === 'string' && tools.some(({ name }) => name === tool)) return { tool }
  throw new HostError('REQUEST_INVALID', 'tool_choice.name must be the name of one of the tools')
}

function toResponseSchema(format: unknown): Fields | undefined {
  const { type, schema } = (format ?? {}) as Fields
  if (type === 'json_object') return { type: 'object' }
  if (type !== 'json_schema') return undefined
  if (typeof schema === 'object' && schema !== null) return schema as Fields
  throw new HostError('REQUEST_INVALID', 'text.format.schema must be a JSON Schema')
}
