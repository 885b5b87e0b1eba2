import { hash } from 'node:crypto'
import { fieldsOf } from '../../../../json.ts'
import type { TracedEvent } from '../../../../trace/files/traced-event.ts'

/** Ids that runs make of themselves. */
const IDS = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi
/** Fields that differ from run to run without a difference in what is said. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['run', 'toolCallId', 'providerMetadata'])
const LENGTH = 16

/**
 * Digest of what a call was asked, or of what came of it: equal for calls of two runs that say the same. Ids of runs and of tool calls, and
 * how a model's answer came in parts, make no difference.
 */
export function digestOfEvent({ arguments: given, result, exception }: TracedEvent): string {
  const said = given?.args ?? exception ?? (Array.isArray(result) ? withoutParts(result) : result)
  const text = JSON.stringify(said, leaveOut) ?? ''
  return hash('sha1', text.replace(IDS, '*'), 'base64url').slice(0, LENGTH)
}

function leaveOut(this: unknown, name: string, value: unknown): unknown {
  if (OWN_FIELDS.has(name)) return undefined
  // Of a tool call, which vendors number as they like.
  return name === 'id' && 'arguments' in fieldsOf(this) ? undefined : value
}

/** An answer of a model as a whole: its texts, and the tools that it asks for. */
function withoutParts(result: readonly unknown[]): unknown {
  const parts = result.filter((part): part is Part => 'type' in fieldsOf(part))
  if (parts.length < result.length || parts.length === 0) return result
  const textOf = (type: string) => parts.flatMap((part) => (part.type === type ? [part.text] : [])).join('')
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part.call] : []))
  return { text: textOf('text'), reasoning: textOf('reasoning'), calls }
}

interface Part {
  readonly type: unknown
  readonly text?: unknown
  readonly call?: unknown
}
