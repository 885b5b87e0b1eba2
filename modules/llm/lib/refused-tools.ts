import { isDeepStrictEqual } from 'node:util'
import { fieldsOf, type LLMRequest, parseJson, type ToolDefinition } from 'agent-host'
import { simpleSchema } from './simple-schema.ts'

/** Schemas that a vendor takes in the place of those that it has refused, by the tool; undefined for a tool that is left out. */
export type FittedTools = ReadonlyMap<string, ToolDefinition['parameters'] | undefined>

/** The request with the tools that its vendor takes, as far as is known. */
export function fitTools<T extends Partial<LLMRequest>>(request: T, fitted: FittedTools): T {
  if (fitted.size === 0 || !request.tools) return request
  return { ...request, tools: sentTools(request.tools, fitted).map(({ sent }) => sent) }
}

/**
 * Reads which tools a refusal (status 400 or 422) names: each is sent with a simpler schema the next time, or is left out where that is no other. Returns
 * undefined for a refusal that names none, or the one that has to be called.
 */
export function fitRefusedTools(
  error: unknown,
  { tools = [], toolChoice }: Partial<LLMRequest>,
  fitted: FittedTools,
): { readonly fitted: FittedTools; readonly notices: readonly string[] } | undefined {
  const known = sentTools(tools, fitted)
  const refused = findNamed(
    error,
    known.map(({ sent }) => sent.name),
  ).flatMap((index) => known[index] ?? [])
  const next = new Map(fitted)
  const notices = refused.map(({ tool, sent }) => {
    const { parameters } = sent
    const simple = simpleSchema(fieldsOf(parameters))
    const isLast = isDeepStrictEqual(simple, parameters)
    next.set(keyOf(tool), isLast ? undefined : simple)
    return `it refuses the tool '${tool.name}', which is ${isLast ? 'left out' : 'sent with a simpler schema'}`
  })
  const isForced = refused.some(({ tool }) => typeof toolChoice === 'object' && toolChoice.tool === tool.name)
  if (notices.length === 0 || (isForced && notices.some((notice) => notice.endsWith('left out')))) return undefined
  return { fitted: next, notices }
}

/** Keeps what one request has found out, beside what others have meanwhile: at the limit, what is new alone. */
export function keepFitted(known: FittedTools, found: FittedTools): FittedTools {
  return new Map(known.size < MAX_KEPT ? [...known, ...found] : [...found].filter(([key]) => !known.has(key)))
}

/** Clients send tools of their own. */
const MAX_KEPT = 1000

function sentTools(tools: readonly ToolDefinition[], fitted: FittedTools) {
  return tools.flatMap((tool) => {
    if (fitted.size === 0) return [{ tool, sent: tool }]
    const key = keyOf(tool)
    const parameters = fitted.get(key)
    if (fitted.has(key) && !parameters) return []
    return [{ tool, sent: parameters ? { ...tool, parameters } : tool }]
  })
}

/** A client may send another tool of that name. */
function keyOf({ name, parameters }: ToolDefinition): string {
  return JSON.stringify([name, parameters])
}

/** Returns the places of the tools that a refusal names: by the place, as most vendors do, or by the name. */
function findNamed(error: unknown, names: readonly string[]): number[] {
  const { statusCode, message, responseBody, data } = fieldsOf(error)
  if (statusCode !== 400 && statusCode !== 422) return []
  const said = [message, ...textsIn(data ?? parseJson(String(responseBody ?? '')) ?? responseBody)]
    .join('\n')
    .slice(0, MAX_CHARS)
  // Answers have a schema, too.
  if (/response_?format|text\.format|output_config/i.test(said)) return []
  const pattern = /function_?declarations\[\d/i.test(said) ? /function_?declarations\[(\d+)/gi : /\btools[[.](\d+)/g
  const places = [...said.matchAll(pattern)].map(([, place]) => Number(place))
  if (places.length > 0) return [...new Set(places)]
  if (!/schema|tool|function|parameter/i.test(said)) return []
  return names.flatMap((name, index) => (isNamed(name, said) ? [index] : []))
}

const MAX_CHARS = 10_000

/** In quotes, or after a word for it: names of tools are words of everyday language. */
function isNamed(name: string, text: string): boolean {
  const escaped = name.replace(/[^\w-]/g, '\\$&')
  return new RegExp(`(['"\`])${escaped}\\1|\\b(?:function|tool):? ${escaped}(?![\\w-])`, 'i').test(text)
}

/** All texts of a body, and the paths that validators write as lists. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  const path = Array.isArray(value) && value.every((part) => typeof part !== 'object') ? [value.join('.')] : []
  return [...path, ...Object.values(value).flatMap(textsIn)]
}
