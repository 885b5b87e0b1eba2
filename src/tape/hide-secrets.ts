import { isJsonText } from '../json.ts'
import type { Redact } from '../trace/redact.ts'

/** Lines of JSON without secrets. Searching them together costs a fraction of one search for each; few have any. */
export function hideSecretsInLines(text: string, hide: Redact): string {
  if (hide(text) === text) return text
  return text.replace(/[^\n]+/g, (line) => hideSecrets(line, hide))
}

/** Whole lines of calls without secrets, those that models sent in pieces included. */
export function hideSecretsInCalls(lines: readonly string[], hide: Redact): string[] {
  const whole = hideSecretsInPieces(lines.join('\n'), hide)
  return whole.split('\n').map((line) => hideSecrets(line, hide))
}

/** A piece of a text that a model streams. */
const PIECE =
  /^(\{"type":"part","call":(\d+),(?:"ms":[\d.]+,)?"value":\{"type":"(text|reasoning)","text":)("(?:[^"\\]|\\.)*")/gm

/** Lines whose models sent no secret in several pieces: where one did, the first piece has the whole text, without it. */
export function hideSecretsInPieces(text: string, hide: Redact): string {
  const pieces = new Map<string, string[]>()
  for (const [, , call = '', kind = '', json = '""'] of text.matchAll(PIECE)) {
    const key = `${call} ${kind}`
    const known = pieces.get(key)
    if (known) known.push(JSON.parse(json))
    else pieces.set(key, [JSON.parse(json)])
  }
  const hidden = new Map<string, string>()
  for (const [key, said] of pieces) {
    const whole = hide(said.join(''))
    if (whole !== said.map(hide).join('')) hidden.set(key, whole)
  }
  return text.replace(PIECE, (line, start: string, call: string, kind: string) => {
    const key = `${call} ${kind}`
    const shown = hidden.get(key)
    if (shown === undefined) return line
    hidden.set(key, '')
    return `${start}${JSON.stringify(shown)}`
  })
}

/**
 * A line of JSON without secrets, which is JSON again: a secret may be part of a number, and a pattern may reach beyond the text
 * that it was found in.
 */
export function hideSecrets(line: string, hide: Redact): string {
  const hidden = hide(line)
  if (hidden === line) return line
  return isJsonText(hidden) ? hidden : JSON.stringify(hideWithin(JSON.parse(line), hide))
}

function hideWithin(value: unknown, hide: Redact): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'number') {
    const hidden = hide(String(value))
    return hidden === String(value) ? value : hidden
  }
  if (Array.isArray(value)) return value.map((item) => hideWithin(item, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), hideWithin(inner, hide)]))
}
