import { hash } from 'node:crypto'
import { type Fields, fieldsOf } from '../../../../json.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import { toClientTool } from '../../../bodies/client-tool.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { CreateRequest } from '../routes/schema.ts'

/** Types of the tools that a client runs. */
export const CLIENT_TYPES: ReadonlySet<string> = new Set(['function', 'custom', 'namespace'])

/** Maximum length of the name of a function, as the common model APIs have it. */
const MAX_NAME_LENGTH = 64

/**
 * Returns the tools that the client runs itself, as functions for the model: free text is the argument `input`, and a namespace is part of the
 * name. Tools of other types are ignored.
 *
 * @param field place of the tools in the request
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toClientTools(tools: CreateRequest['tools'], field = 'tools'): ToolDefinition[] {
  return (tools ?? []).flatMap((tool, index) => {
    const at = `${field}[${index}]`
    return tool.type === 'namespace' ? toNamespace(tool, at) : (toClientTool(tool.type, tool, at) ?? [])
  })
}

/**
 * Returns the tools of an item that adds some to the conversation.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toAddedTools({ tools }: Fields, at: string): ToolDefinition[] {
  if (!isToolList(tools)) throw invalidField(`${at}.tools`, 'must be an array of tools.')
  return toClientTools(tools, `${at}.tools`)
}

function isToolList(tools: unknown): tools is NonNullable<CreateRequest['tools']> {
  return Array.isArray(tools) && tools.every((tool: unknown) => typeof fieldsOf(tool).type === 'string')
}

/** Tells whether the tools of such an item can be read: a dialect whose specification does not have it ignores any other. */
export function hasReadableTools(item: Fields): boolean {
  try {
    toAddedTools(item, '')
    return true
  } catch {
    return false
  }
}

/** Tools of a conversation with later ones: a later one stands in for an earlier one of its name. */
export function mergeTools(
  earlier: readonly ToolDefinition[],
  later: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  if (earlier.length === 0 || later.length === 0) return earlier.length === 0 ? later : earlier
  return mergeAllTools([earlier, later])
}

export function mergeAllTools(lists: readonly (readonly ToolDefinition[])[]): readonly ToolDefinition[] {
  const names = new Set<string>()
  const latestFirst = lists.toReversed().map((list) => {
    const left = list.filter(({ name }) => !names.has(name))
    for (const { name } of list) names.add(name)
    return left
  })
  return latestFirst.reverse().flat()
}

/** Name by which a model calls a tool of a namespace. */
export function flatName(name: string, namespace: unknown): string {
  if (typeof namespace !== 'string') return name
  const whole = `${namespace.replace(/[^A-Za-z0-9_-]/g, '_')}__${name}`
  if (whole.length <= MAX_NAME_LENGTH) return whole
  const digest = hash('sha256', whole).slice(0, 8)
  return `${whole.slice(0, MAX_NAME_LENGTH - digest.length - 1)}_${digest}`
}

/** Keys by which a choice of the client may name a tool: its own names, or that of its namespace. Compare it with {@link choiceKey}. */
export function choiceKeysOf({ name, client }: ToolDefinition): string[] {
  const keys = [choiceKey('function', name), choiceKey('function', client?.name ?? name)]
  return client?.namespace === undefined ? keys : [...keys, choiceKey('namespace', client.namespace)]
}

export function choiceKey(type: string, name: string): string {
  return `${type === 'namespace' ? type : 'tool'} ${name}`
}

function toNamespace({ name, tools, description }: Fields, at: string): ToolDefinition[] {
  if (typeof name !== 'string' || !/^[\w.-]{1,128}$/.test(name)) {
    throw invalidField(`${at}.name`, 'must be 1 to 128 letters, digits, _, . or -')
  }
  if (!Array.isArray(tools)) throw invalidField(`${at}.tools`, 'must be an array.')
  return tools.map((inner: unknown, index) => {
    const place = `${at}.tools[${index}]`
    const fields = fieldsOf(inner)
    const tool = toClientTool(fields.type, fields, place)
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
