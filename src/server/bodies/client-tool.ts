import { messageOf } from '../../errors.ts'
import { type Fields, fieldsOf, isObject } from '../../json.ts'
import type { ClientTool, ToolDefinition } from '../../protocols/tool-definition.ts'
import { wholeTextExpression } from '../../run/checks/whole-text-expression.ts'
import { invalidField } from './invalid-field.ts'

/** Part of a custom tool that its format decides. */
interface TextFormat {
  readonly pattern?: string
  readonly lark?: string
  /** Addition to the description, for the model. */
  readonly note?: string
}

/**
 * Returns a tool of a client as a function for the model; one that takes free text has one argument. Undefined for a type that no client runs.
 *
 * @param at place of its fields in the request
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toClientTool(type: unknown, tool: Fields, at: string): ToolDefinition | undefined {
  if (type === 'function') return toFunction(tool, at)
  return type === 'custom' ? toCustomTool(tool, at) : undefined
}

function toFunction({ name: rawName, description, parameters, strict }: Fields, at: string): ToolDefinition {
  const name = readToolName(rawName, at)
  if (parameters != null && !isObject(parameters)) {
    throw invalidField(`${at}.parameters`, 'must be a JSON Schema')
  }
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict === true ? { strict } : undefined),
  }
}

function toCustomTool({ name: rawName, description, format }: Fields, at: string): ToolDefinition {
  const name = readToolName(rawName, at)
  const { note, ...kind } = readFormat(fieldsOf(format), `${at}.format`)
  const client: ClientTool = { name, isCustom: true, ...kind }
  return {
    name,
    description: [description, note].filter((text) => typeof text === 'string' && text !== '').join('\n\n'),
    parameters: INPUT,
    client,
  }
}

/** @throws HostError `REQUEST_INVALID` for a name that models do not take */
function readToolName(name: unknown, at: string): string {
  if (typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw invalidField(`${at}.name`, 'must be 1 to 64 letters, digits, _ or -')
}

const INPUT: Fields = Object.freeze({
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole text of the call.' } },
  required: ['input'],
  additionalProperties: false,
})

/** The chat API has the grammar in an object of its own. */
function readFormat(format: Fields, at: string): TextFormat {
  const { type = 'text', grammar = format } = format
  if (type === 'text') return {}
  if (type !== 'grammar') throw invalidField(`${at}.type`, 'must be text or grammar.')
  return readGrammar(fieldsOf(grammar), grammar === format ? at : `${at}.grammar`)
}

function readGrammar({ syntax, definition }: Fields, at: string): TextFormat {
  if (typeof definition !== 'string') throw invalidField(`${at}.definition`, 'must be a string.')
  if (syntax === 'lark') {
    return { lark: definition, note: `The input must be a text of this Lark grammar:\n${definition}` }
  }
  if (syntax !== 'regex') throw invalidField(`${at}.syntax`, 'must be lark or regex.')
  try {
    wholeTextExpression(definition)
  } catch (error) {
    throw invalidField(`${at}.definition`, `cannot be used: ${messageOf(error)}`)
  }
  return { pattern: definition, note: `The input must match this regular expression:\n${definition}` }
}
