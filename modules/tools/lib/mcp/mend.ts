import { isSpecType, type JSONRPCMessage, type Tool, type Transport } from '@modelcontextprotocol/client'
import { type Fields, fieldsOf, isObject, messageOf } from 'agent-host'
import { mendSchema } from './schema.ts'

/** Called with a sentence about each tool that is left out. */
type Tell = (problem: string) => void

/** Fields of a part of a result that are read here: a wrong one among the others costs nothing. */
const CONTENT: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name', 'title'],
  resource: ['resource'],
}

/** Names are remembered, and stand in the log. MCP asks for 128 characters at most. */
const MAX_NAME = 1000
/** Maximum number of tool names to remember while the agent is loaded. A server may list others each time. */
export const MAX_KNOWN_TOOLS = 10_000
/** Maximum number of objects in the schemas of one list: mending a million of them takes seconds. */
const MAX_SCHEMAS = 50_000
/** Maximum number of parts of a result. A message of 10 MiB can have millions, and each needs many times its size in memory. */
const MAX_PARTS = 20_000

/**
 * Mends lists of tools and results before the SDK reads them: it refuses a whole list for one wrong tool, and a whole result for one unknown part.
 * It does so for each version of the protocol by other rules, so that only what arrives can be mended.
 */
export function mendMessages(transport: Transport, tell: Tell): Transport {
  let receive: Transport['onmessage']
  return Object.defineProperty(transport, 'onmessage', {
    get: (): Transport['onmessage'] => receive && ((message, extra) => receive?.(mendMessage(message, tell), extra)),
    set: (next: Transport['onmessage']) => {
      receive = next
    },
  })
}

function mendMessage(message: JSONRPCMessage, tell: Tell): JSONRPCMessage {
  const { result } = fieldsOf(message)
  if (!isObject(result)) return message
  if ('tools' in result) return { ...message, result: mendList(result, tell) } as JSONRPCMessage
  const isOfCall = 'content' in result || 'structuredContent' in result
  return isOfCall ? ({ ...message, result: mendResult(result) } as JSONRPCMessage) : message
}

function mendList({ tools, nextCursor, ...rest }: Fields, tell: Tell): Fields {
  const listed = Array.isArray(tools) ? tools : []
  if (listed.length > MAX_KNOWN_TOOLS) tell(`has listed ${MAX_KNOWN_TOOLS} tools: others are left out.`)
  let left = MAX_SCHEMAS
  const fits = (tool: unknown) => {
    const size = countObjects(fieldsOf(tool).inputSchema, left)
    const isFitting = size <= left
    if (isFitting) left -= size
    else tell(`has more than ${MAX_SCHEMAS} objects in the schemas of its tools: some tools are left out.`)
    return isFitting
  }
  return {
    ...withoutNulls(rest),
    tools: listed
      .slice(0, MAX_KNOWN_TOOLS)
      .filter(fits)
      .flatMap((tool) => mendTool(tool, tell)),
    ...(typeof nextCursor === 'string' ? { nextCursor } : {}),
  }
}

/** Number of objects and lists in a value; counting stops one above the limit. */
function countObjects(value: unknown, limit: number): number {
  const found: unknown[] = [value]
  let count = 0
  while (found.length > 0 && count <= limit) {
    const next = found.pop()
    if (typeof next !== 'object' || next === null) continue
    count++
    for (const inner of Object.values(next)) found.push(inner)
  }
  return count
}

/** Without `outputSchema`: a call that was executed must not fail because its answer is not as announced. */
function mendTool(tool: unknown, tell: Tell): Tool[] {
  const { name, description, inputSchema, annotations } = fieldsOf(tool)
  if (typeof name !== 'string' || name === '') {
    tell('lists a tool without a name, which is left out.')
    return []
  }
  if (name.length > MAX_NAME) {
    tell(`lists a tool whose name has more than ${MAX_NAME} characters, which is left out.`)
    return []
  }
  const { readOnlyHint, destructiveHint } = fieldsOf(annotations)
  const hints = Object.entries({ readOnlyHint, destructiveHint }).filter(([, hint]) => typeof hint === 'boolean')
  try {
    return [
      {
        name,
        ...(typeof description === 'string' ? { description } : {}),
        inputSchema: mendSchema(inputSchema) as Tool['inputSchema'],
        annotations: Object.fromEntries(hints),
      },
    ]
  } catch (error) {
    tell(`describes the tool '${name}' by a schema that no model takes: ${messageOf(error)}. The tool is left out.`)
    return []
  }
}

function mendResult({ content, structuredContent, isError, ...rest }: Fields): Fields {
  // Versions before 2026-07-28, which have no `resultType`, know objects alone.
  const isWrapped = !isObject(structuredContent) && !('resultType' in rest)
  const structure = isWrapped ? { result: structuredContent } : structuredContent
  return {
    ...withoutNulls(rest),
    content: mendParts(toList(content)),
    ...(structuredContent == null ? {} : { structuredContent: structure }),
    ...(typeof isError === 'boolean' ? { isError } : {}),
  }
}

function toList(content: unknown): unknown[] {
  if (Array.isArray(content)) return content
  return content == null ? [] : [content]
}

function mendParts(parts: readonly unknown[]): object[] {
  const mended = parts.slice(0, MAX_PARTS).map(mendContent)
  const more = parts.length - mended.length
  return more === 0 ? mended : [...mended, toNote(`${more} more parts, which are left out`)]
}

function mendContent(part: unknown): object {
  if (typeof part === 'string') return { type: 'text', text: part }
  const { type, ...fields } = fieldsOf(part)
  const known = typeof type === 'string' && Object.hasOwn(CONTENT, type) ? CONTENT[type] : undefined
  if (!known) return toNote(`content of the unknown type '${String(type).slice(0, 100)}'`)
  const { resource } = fields
  const inner = isObject(resource) ? { resource: withoutNulls(resource) } : {}
  const kept = Object.entries(withoutNulls({ ...fields, ...inner })).filter(([name]) => known.includes(name))
  const mended = { type, ...Object.fromEntries(kept) }
  return isSpecType.ContentBlock(mended) ? mended : toNote(`content of the type '${type}' that cannot be read`)
}

function toNote(text: string): object {
  return { type: 'text', text: `[${text}]` }
}

function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
