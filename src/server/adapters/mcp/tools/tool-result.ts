import type { JsonObjectSchema } from '../../../../definition/definition.ts'
import { messageOf } from '../../../../errors.ts'
import { isObject } from '../../../../json.ts'
import type { PendingCall } from '../../../../run/waiting/pending-call.ts'
import type { Content } from './content.ts'
import type { ToolCatalog } from './tool-catalog.ts'

/** Result of a tool (`CallToolResult` of the MCP schema). */
export interface ToolResult {
  readonly content: readonly Content[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  /** The run waits for a person: only where the client can be asked. */
  readonly waiting?: { readonly state: string; readonly pending: readonly PendingCall[] }
  /** The run goes on without the request: only where the client can follow it. */
  readonly task?: CallTask
}

/** Task as clients see it (`DetailedTask` of the extension). */
export interface CallTask {
  readonly taskId: string
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  readonly statusMessage?: string
  /** ISO 8601, as the next. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** Milliseconds after which it may be removed; null: never. */
  readonly ttlMs: number | null
  /** Time after which to ask again. */
  readonly pollIntervalMs: number
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params: object }>>
  /** Result that a request would have got. */
  readonly result?: ToolResult & { readonly resultType: 'complete' }
  readonly error?: { readonly code: number; readonly message: string }
}

/** Adds the answer as the JSON that the agent declares. If it does not match, the calling model sees why and may retry. */
export function withStructure(
  content: readonly Content[],
  text: string,
  schema: JsonObjectSchema,
  catalog: ToolCatalog,
): ToolResult {
  const complain = (problem: string): ToolResult => {
    const notice = { type: 'text' as const, text: `The agent did not answer as its output schema says: ${problem}` }
    return { content: [notice, ...content], isError: true }
  }
  let value: unknown
  try {
    value = JSON.parse(withoutFence(text))
  } catch (error) {
    return complain(messageOf(error))
  }
  const problem = catalog.findProblem(schema, value)
  if (problem !== undefined) return complain(problem)
  return isObject(value) ? { content, structuredContent: value } : complain('It must be an object.')
}

/** Removes the code fence that models like to put around JSON. Without a regular expression: a lazy match would be quadratic. */
export function withoutFence(text: string): string {
  const trimmed = text.trim()
  const begin = trimmed.indexOf('\n')
  const isFenced = trimmed.startsWith('```') && trimmed.endsWith('\n```') && begin < trimmed.length - 4
  const language = trimmed.slice(3, begin).trim()
  return isFenced && (language === '' || language === 'json') ? trimmed.slice(begin + 1, -4) : text
}
