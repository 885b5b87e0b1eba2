import { fieldsOf, isDeeper, isObject } from 'agent-host'
import { LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA } from '../schema-words.ts'

type Schema = Readonly<Record<string, unknown>>

const TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const MAX_DEPTH = 100
const TOO_DEEP = `it is more than ${MAX_DEPTH} levels deep`

/**
 * Mends the schema of a tool's arguments: what means nothing is left out or filled in, as servers write it who have no arguments.
 *
 * @throws Error for a schema that no vendor of a model takes
 */
export function mendSchema(raw: unknown): Schema {
  if (raw != null && !isObject(raw)) throw new Error('it is no object')
  // A level of schemas takes two of JSON. What is no schema, such as a default, has as many levels as they have.
  if (isDeeper(raw, 3 * MAX_DEPTH)) throw new Error(TOO_DEEP)
  const schema = withoutReference(fieldsOf(mend(raw, 0)))
  const { type = 'object', properties = {} } = schema
  if (![type].flat().includes('object')) throw new Error(`it is of type '${type}', and arguments are an object`)
  const lost = findLost(schema, schema)
  if (lost !== undefined) throw new Error(`its $ref '${lost}' leads nowhere`)
  return { ...schema, type: 'object', properties }
}

function mend(schema: unknown, depth: number): unknown {
  if (schema == null) return {}
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema)) throw new Error(`it has ${JSON.stringify(schema).slice(0, 100)} in the place of a schema`)
  if (depth > MAX_DEPTH) throw new Error(TOO_DEEP)
  const entries = Object.entries(schema).map(([word, value]) => {
    const read = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
    return [word, read ? read(value, depth + 1) : value] as const
  })
  const mended: Schema = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  const isList = [mended.type].flat().includes('array') && mended.prefixItems === undefined
  return isList ? { items: {}, ...mended } : mended
}

/** Returns the value of a keyword; undefined where it means nothing. */
type Read = (value: unknown, depth: number) => unknown

const toSchema: Read = (value, depth) => {
  if (value === null) return undefined
  return Array.isArray(value) ? value.map((each) => mend(each, depth)) : mend(value, depth)
}

const toSchemas: Read = (value, depth) =>
  Array.isArray(value) && value.length > 0 ? value.map((each) => mend(each, depth)) : undefined

/** PHP writes an empty object as a list. */
const toMap: Read = (value, depth) => {
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined
  if (!isObject(value)) throw new Error(`it has ${JSON.stringify(value).slice(0, 100)} in the place of properties`)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mend(each, depth)]))
}

const toType: Read = (value) => {
  if (value === null) return undefined
  const types = [value].flat()
  const unknown = types.find((type) => !TYPES.includes(type))
  if (types.length > 0 && unknown === undefined) return value
  throw new Error(`JSON Schema has no type ${JSON.stringify(unknown ?? value).slice(0, 100)}`)
}

const toText: Read = (value) => (typeof value === 'string' ? value : undefined)

/** Its server checks the arguments by the regular expressions of its own language. */
const toPattern: Read = (value) => {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') ? value : undefined
  } catch {
    return undefined
  }
}

const WORDS: Readonly<Record<string, Read>> = {
  type: toType,
  description: toText,
  title: toText,
  format: toText,
  $ref: toText,
  pattern: toPattern,
  enum: (value) => (Array.isArray(value) && value.length > 0 ? value : undefined),
  required: (value) => (Array.isArray(value) ? value.filter((name) => typeof name === 'string') : undefined),
  ...allBy(toMap, MAP_OF_SCHEMAS),
  ...allBy(toSchemas, LIST_OF_SCHEMAS),
  ...allBy(toSchema, ONE_SCHEMA),
}

function allBy(read: Read, words: readonly string[]): Record<string, Read> {
  return Object.fromEntries(words.map((word) => [word, read]))
}

/** Some generators write all schemas as definitions, and refer to one of them. Vendors want the object itself. */
function withoutReference({ $ref, ...schema }: Schema): Schema {
  if (typeof $ref !== 'string') return schema
  const target = follow($ref, schema)
  return isObject(target) ? { ...target, ...schema } : { $ref, ...schema }
}

/** Returns the first reference that points at nothing in the schema. */
function findLost(part: unknown, root: Schema): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined
  const { $ref } = fieldsOf(part)
  if (typeof $ref === 'string' && $ref.startsWith('#/') && follow($ref, root) === undefined) return $ref
  for (const [word, inner] of Object.entries(part)) {
    const lost = DATA.includes(word) ? undefined : findLost(inner, root)
    if (lost !== undefined) return lost
  }
  return undefined
}

/** Keywords whose values are no schemas. */
const DATA = ['const', 'enum', 'default', 'examples']

/** Returns what a JSON pointer in a URL points at (RFC 6901, section 6). */
function follow(reference: string, root: Schema): unknown {
  let part: unknown = root
  for (const token of reference.split('/').slice(1)) {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    part = typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? (part as Schema)[name] : undefined
  }
  return part
}
