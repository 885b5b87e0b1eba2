import type { Redact } from '../trace/redact.ts'

/** Lines of JSON without secrets. Searching them together costs a fraction of one search for each; few have any. */
export function hideSecretsInLines(text: string, hide: Redact): string {
  if (hide(text) === text) return text
  return text.replace(/[^\n]+/g, (line) => hideSecrets(line, hide))
}

/**
 * A line of JSON without secrets, which is JSON again: a secret may be part of a number, and a pattern may reach beyond the text
 * that it was found in.
 */
export function hideSecrets(line: string, hide: Redact): string {
  const hidden = hide(line)
  if (hidden === line) return line
  return isJson(hidden) ? hidden : JSON.stringify(hideWithin(JSON.parse(line), hide))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
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
