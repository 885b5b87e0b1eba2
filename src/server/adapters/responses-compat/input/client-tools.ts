import { createHash } from 'node:crypto'
import type { ClientTool, ToolDefinition } from '../../../../protocols/tool-definition.ts'
import { findExpressionFault } from '../../../../run/check-text.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { CreateRequest } from '../routes/schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** Maximum length of the name of a function, as the common model APIs have it. */
const MAX_NAME_LENGTH = 64

/**
 * Returns the tools that the client runs itself, as functions for the model: free text is the argument `input`, and a namespace is part of the
 * name. Tools of other types are ignored.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toClientTools(tools: CreateRequest['tools']): ToolDefinition[] {
  return (tools ?? []).flatMap((tool, index): readonly ToolDefinition[] => {
    const at = `tools[${index}]`
    if (tool.type === 'namespace') return toNamespace(tool, at)
    const own = toTool(tool, at)
    return own ? [own] : []
  })
}

/** Name by which a model calls a tool of a namespace. */
export function flatName(name: string, namespace: unknown): string {
  if (typeof namespace !== 'string') return name
  const whole = `${namespace.replace(/[^A-Za-z0-9_-]/g, '_')}__${name}`
  if (whole.length <= MAX_NAME_LENGTH) return whole
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${whole.slice(0, MAX_NAME_LENGTH - digest.length - 1)}_${digest}`
}

/** Tells whether the client means a tool by this name. */
export function isNamed({ name, client }: ToolDefinition, wanted: string): boolean {
  return (client?.name ?? name) === wanted || name === wanted
}

function toNamespace({ name, tools, description }: Fields, at: string): ToolDefinition[] {
  if (typeof name !== 'string' || !/^[\w.-]{1,128}$/.test(name)) {
    throw invalidField(`${at}.name`, 'must be 1 to 128 letters, digits, _, . or -')
  }
  if (!Array.isArray(tools)) throw invalidField(`${at}.tools`, 'must be array.')
  return tools.map((inner: unknown, index) => {
    const place = `${at}.tools[${index}]`
    const tool = toTool((inner ?? {}) as Fields, place)
    if (!tool) throw invalidField(`${place}.type`, 'must be function or custom.')
    const about = typeof description === 'string' ? description : ''
    return {
      ...tool,
      name: flatName(tool.name, name),
      description: [about, tool.description].filter((text) => text !== '').join('\n\n'),
      client: { ...(tool.client ?? { name: tool.name }), namespace: name },
    }
  })
}

function toTool(tool: Fields, at: string): ToolDefinition | undefined {
  if (tool.type === 'function') return toFunction(tool, at)
  return tool.type === 'custom' ? toCustom(tool, at) : undefined
}

function toFunction({ name: rawName, description, parameters, strict }: Fields, at: string): ToolDefinition {
  const name = readName(rawName, at)
  if ((parameters ?? undefined) !== undefined && (typeof parameters !== 'object' || Array.isArray(parameters))) {
    throw invalidField(`${at}.parameters`, 'must be a JSON Schema')
  }
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: (parameters as Fields | null | undefined) ?? { type: 'object', properties: {} },
    ...(strict === true ? { strict } : undefined),
  }
}

function toCustom({ name: rawName, description, format }: Fields, at: string): ToolDefinition {
  const name = readName(rawName, at)
  const { pattern, note } = readFormat((format ?? {}) as Fields, `${at}.format`)
  const client: ClientTool = { name, isCustom: true, ...(pattern === undefined ? {} : { pattern }) }
  return {
    name,
    description: [description, note].filter((text) => typeof text === 'string' && text !== '').join('\n\n'),
    parameters: INPUT,
    client,
  }
}

const INPUT: Fields = Object.freeze({
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole text of the call.' } },
  required: ['input'],
  additionalProperties: false,
})

function readFormat({ type = 'text', syntax, definition }: Fields, at: string): { pattern?: string; note?: string } {
  if (type === 'text') return {}
  if (type !== 'grammar') throw invalidField(`${at}.type`, 'must be text or grammar.')
  if (typeof definition !== 'string') throw invalidField(`${at}.definition`, 'must be string.')
  if (syntax === 'lark') return { note: `The input must be a text of this Lark grammar:\n${definition}` }
  if (syntax !== 'regex') throw invalidField(`${at}.syntax`, 'must be lark or regex.')
  const fault = findExpressionFault(definition)
  if (fault !== undefined) throw invalidField(`${at}.definition`, `cannot be used: ${fault}`)
  return { pattern: definition, note: `The input must match this regular expression:\n${definition}` }
}

function readName(name: unknown, at: string): string {
  if (typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw invalidField(`${at}.name`, 'must be 1 to 64 letters, digits, _ or -')
}
