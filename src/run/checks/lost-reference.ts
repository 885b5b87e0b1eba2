import { decodeUri } from '../../decode-uri.ts'
import { isObject, ownValue } from '../../json.ts'

type Schema = Readonly<Record<string, unknown>>

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/**
 * Returns the first `$ref` of a schema that leads nowhere. No answer would match it. Within a schema with an `$id`, references are
 * relative to that, and are not looked at.
 */
export function findLostReference(schema: Schema): string | undefined {
  // Schemas of programs may hold themselves.
  const parts = new Set<unknown>([schema])
  let lost: string | undefined
  for (const part of parts) {
    if (typeof part !== 'object' || part === null) continue
    const { $id, $ref } = isObject(part) ? part : {}
    if (typeof $id === 'string') return undefined
    if (typeof $ref === 'string' && isLost(schema, $ref)) lost ??= $ref
    for (const [key, inner] of Object.entries(part)) if (!DATA.has(key)) parts.add(inner)
  }
  return lost
}

function isLost(schema: Schema, reference: string): boolean {
  if (!reference.startsWith('#/')) return !reference.startsWith('#')
  let part: unknown = schema
  for (const key of reference.slice(2).split('/')) {
    const name = readPart(key)
    part = ownValue(part, name)
    if (part === undefined) return true
  }
  return false
}

/** Part of a JSON pointer in a URL (RFC 6901, section 6). */
function readPart(part: string): string {
  return decodeUri(part).replaceAll('~1', '/').replaceAll('~0', '~')
}
