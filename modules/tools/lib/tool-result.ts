import { type Attachment, fieldsOf, messageOf, raceAbort, type ToolResult, withDeadline } from 'agent-host'

/** Converts the return value of a tool to a result: a string or a result as it is, anything else as JSON and value. */
export function toToolResult(tool: string, value: unknown): ToolResult {
  if (typeof value === 'string') return { text: value }
  if (value === undefined) return { text: 'done' }
  if (isToolResult(value)) return value
  try {
    return { text: JSON.stringify(value) ?? String(value), data: value }
  } catch (cause) {
    throw new Error(`The tool '${tool}' returned a value that is not JSON: ${messageOf(cause)}`, { cause })
  }
}

/** Only with nothing beside it: a tool's own object may have a `text` too. */
function isToolResult(value: unknown): value is ToolResult {
  const { text, data: _data, attachments, isError: _isError, ...others } = fieldsOf(value)
  return typeof text === 'string' && isAttachments(attachments) && Object.keys(others).length === 0
}

function isAttachments(value: unknown): value is readonly Attachment[] | undefined {
  return value === undefined || Array.isArray(value)
}

/**
 * Waits for a call, but no longer than it may take, nor than the run.
 *
 * @throws Error that names the tool and the limit; the run's reason when that was aborted
 */
export function withinTimeout<T>(tool: string, call: PromiseLike<T>, seconds: number, signal: AbortSignal): Promise<T> {
  const createError = () => new Error(`The tool '${tool}' took longer than ${seconds} s.`)
  return withDeadline(raceAbort(call, signal), seconds * 1000, createError)
}
