import type { Redact } from '../redaction/redact.ts'

/** An exception as OpenTelemetry names its parts. */
export interface ParsedException {
  readonly type: string
  readonly message: string
  readonly stack: string
}

/** `TypeError [ERR_X]: message`. What was thrown may also be any text. */
const FIRST_LINES = /^(\w*(?:Error|Exception))\b(?: \[\w+\])?(?:: (.*))?$/s
const MAX_MESSAGE_CHARS = 1000
const MAX_STACK_CHARS = 8000

/** @param exception message and stack, as in events */
export function parseException(exception: string, redact: Redact): ParsedException {
  // Before anything is cut: half a secret would not be found.
  const stack = redact(exception)
  // In linear time: a vendor may fill a message with empty lines.
  const head = (stack.split(/\n[^\S\n]+at |\nCaused by: /, 1)[0] ?? '').trimEnd()
  const [, type = '_OTHER', message = head] = FIRST_LINES.exec(head) ?? []
  return { type, message: message.slice(0, MAX_MESSAGE_CHARS), stack: stack.slice(0, MAX_STACK_CHARS) }
}
