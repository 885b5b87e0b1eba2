import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import type { Fields } from '../../../../json.ts'
import type { ModelOptions } from '../../../../protocols/model-options.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import type { Capabilities } from '../../../../run/agent/agent-capabilities.ts'
import { type ClientChoice, chooseTools } from '../../../bodies/choose-tools.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { type CreateRequest, ToolChoice } from '../routes/schema.ts'
import { CLIENT_TYPES, choiceKey, choiceKeysOf, mergeTools, toClientTools } from './client-tools.ts'

/** Part of a turn that the options of a request decide. */
interface RequestedOptions {
  readonly requestOptions: ModelOptions
  readonly clientTools: readonly ToolDefinition[]
}

/**
 * Returns the client's tools, and the options for the model that a request sets; none that it leaves out.
 *
 * @param added tools that items of the conversation have added
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readOptions(
  body: CreateRequest,
  added: readonly ToolDefinition[],
  dialect: Dialect,
  findCapabilities: () => Capabilities,
): RequestedOptions {
  refuseMisplaced(body)
  const tools = mergeTools(added, toClientTools(body.tools))
  const choice = toChoice(body.tool_choice, tools)
  const { clientTools, toolChoice } = chooseTools(tools, choice, dialect, findCapabilities)
  const requestOptions: { -readonly [K in keyof ModelOptions]: ModelOptions[K] } = {}
  // One by one: a loop over the names costs more than all of it, and most requests set none.
  if (toolChoice !== undefined) requestOptions.toolChoice = toolChoice
  if (isGiven(body.temperature)) requestOptions.temperature = body.temperature
  if (isGiven(body.top_p)) requestOptions.topP = body.top_p
  if (isGiven(body.max_output_tokens)) requestOptions.maxOutputTokens = body.max_output_tokens
  if (isGiven(body.presence_penalty)) requestOptions.presencePenalty = body.presence_penalty
  if (isGiven(body.frequency_penalty)) requestOptions.frequencyPenalty = body.frequency_penalty
  if (isGiven(body.reasoning?.effort)) requestOptions.reasoningEffort = body.reasoning.effort
  if (typeof body.text?.verbosity === 'string') requestOptions.verbosity = body.text.verbosity
  if (isGiven(body.service_tier)) requestOptions.serviceTier = body.service_tier
  if (isGiven(body.prompt_cache_key)) requestOptions.promptCacheKey = body.prompt_cache_key
  if (isGiven(body.safety_identifier)) requestOptions.safetyIdentifier = body.safety_identifier
  if (clientTools.length > 0 && isGiven(body.parallel_tool_calls))
    requestOptions.parallelToolCalls = body.parallel_tool_calls
  const responseSchema = toResponseSchema(body.text?.format)
  if (responseSchema) requestOptions.responseSchema = responseSchema
  return { requestOptions, clientTools }
}

/** Fields of the chat API that clients send here by mistake, and what they are called here. */
const MISPLACED: Readonly<Record<string, string>> = {
  response_format: 'text.format',
  functions: 'tools',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
}

function refuseMisplaced(body: Fields): void {
  for (const field in MISPLACED) {
    if (body[field] != null) {
      throw invalidField(field, `is a field of the chat API: send ${MISPLACED[field]}.`)
    }
  }
}

type AllowedTool = Extract<Static<typeof ToolChoice>, { readonly type: 'allowed_tools' }>['tools'][number]

function toChoice(choice: CreateRequest['tool_choice'], tools: readonly ToolDefinition[]): ClientChoice {
  // Most requests choose nothing: they need no check, which costs more than all the rest here.
  if ((choice ?? 'auto') === 'auto' || !Value.Check(ToolChoice, choice)) return 'auto'
  if (typeof choice === 'string') return choice
  if (choice.type === 'allowed_tools') return { mode: choice.mode, names: namesOf(choice.tools, tools) }
  const key = choiceKey(choice.type, choice.name)
  return { tool: tools.find((tool) => choiceKeysOf(tool).includes(key))?.name ?? choice.name }
}

/** Names of the tools that a choice allows, and those that no tool has. A name may be that of tools in several namespaces. */
function namesOf(allowed: readonly AllowedTool[], tools: readonly ToolDefinition[]): string[] {
  const wanted = new Map(
    allowed.flatMap(({ type, name }) =>
      CLIENT_TYPES.has(type) && name !== undefined ? [[choiceKey(type, name), name] as const] : [],
    ),
  )
  const met = new Set<string>()
  const named = tools.filter((tool) => {
    const keys = choiceKeysOf(tool).filter((key) => wanted.has(key))
    for (const key of keys) met.add(key)
    return keys.length > 0
  })
  return [...named.map(({ name }) => name), ...[...wanted].flatMap(([key, name]) => (met.has(key) ? [] : [name]))]
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value != null
}

function toResponseSchema(format: NonNullable<CreateRequest['text']>['format']): Fields | undefined {
  if (format?.type === 'json_object') return { type: 'object' }
  return format?.type === 'json_schema' ? format.schema : undefined
}
