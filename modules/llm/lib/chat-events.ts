import { fieldsOf } from 'agent-host'
import type { ChatFields } from './chat-fields.ts'
import type { MendEvent } from './vendor-fetch.ts'
import { vendorWords } from './vendor-words.ts'

/** Chunks that the SDK would misread: few, so that the others are not parsed twice. */
const ODD = /"tool_calls"\s*:\s*[[{]|"error"|"choices"\s*:\s*null|"role"\s*:\s*"(?!assistant"|")/

/**
 * Mends chunks of chat completions that servers send and the SDK refuses, or reads as something else.
 *
 * @param fields gets what the endpoint wants back
 */
export function mendChatEvents(fields: ChatFields): MendEvent {
  return (data) => {
    if (!data.startsWith('{') || (data.includes('"choices"') && !ODD.test(data) && !fields.isIn(data))) return data
    try {
      return JSON.stringify(mendChunk(JSON.parse(data), fields))
    } catch {
      // The SDK says what is wrong with it.
      return data
    }
  }
}

function mendChunk({ error: failure, ...chunk }: Record<string, unknown>, fields: ChatFields): object {
  const [choice, ...others] = Array.isArray(chunk.choices) ? chunk.choices : []
  const { error = failure ?? (chunk.choices === undefined ? vendorWords(chunk) : undefined), ...rest } =
    fieldsOf(choice)
  if (error) return { error: toError(error) }
  if (!choice) return { ...chunk, choices: [] }
  const { role: _, tool_calls, ...said } = fieldsOf(rest.delta)
  fields.hear(said)
  const delta = { ...said, ...(tool_calls ? { tool_calls: fields.calls.read(tool_calls) } : {}) }
  return { ...chunk, choices: [{ ...rest, delta }, ...others] }
}

/** The shape that the SDK knows. */
function toError(error: unknown): object {
  const { code } = fieldsOf(error)
  const message = vendorWords({ error }) ?? 'no reason given'
  return { message, ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}) }
}
