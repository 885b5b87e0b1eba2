/** Replacement of a secret. */
export const REDACTED = '[redacted]'

/** Pattern that finds any of these texts: the longest first, since one secret may begin with another. */
export function anyOf(texts: readonly string[]): RegExp {
  const sorted = texts.toSorted((a, b) => b.length - a.length)
  return new RegExp(sorted.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g')
}
