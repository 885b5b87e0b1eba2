/** Puts `[redacted]` in the place of every secret in a text. */
export type Redact = (text: string) => string

export const REDACTED = '[redacted]'
/** Shorter values would stand in texts by chance. */
const MIN_CHARS = 8
const SECRET_WORDS = new Set(
  'key keys apikey token tokens secret secrets password passwords passwd credential credentials authorization'.split(
    ' ',
  ),
)

/** Returns true for the name of a secret (`OPENAI_API_KEY`, `accessToken`). */
export function isSecretName(name: string): boolean {
  // Every field of every traced event comes through here: most names are refused by this one search.
  return MAYBE_SECRET.test(name) && wordsOf(name).some((word) => SECRET_WORDS.has(word))
}

const MAYBE_SECRET = /key|token|secret|passw|credential|authorization/i

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
}

/**
 * Knows the secrets of an environment: the values of variables whose names speak of one. They are found in plain text and
 * as JSON writes them.
 */
export function makeRedact(environment: Readonly<Record<string, string | undefined>>): Redact {
  const values = Object.entries(environment).flatMap(([name, value = '']) => {
    return value.length >= MIN_CHARS && isSecretName(name) ? [value, JSON.stringify(value).slice(1, -1)] : []
  })
  if (values.length === 0) return (text) => text
  // The longest first: one secret may begin with another.
  const sorted = [...new Set(values)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(sorted.map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(pattern, REDACTED)
}
