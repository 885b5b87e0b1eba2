/** The parts of JSON Schema that decide the type of a value written as text. */
interface Schema {
  readonly type?: unknown
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** A copy of a value of JSON, with texts converted to the types in the schema: "5" to 5, "true" to true. */
export function coerce(schema: Schema, value: unknown): unknown {
  const { type, properties = {}, items = {} } = schema
  if (typeof value === type && typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => coerce(items, item))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, coerce(properties[key] ?? {}, child)]))
  }
  const types = typesOf(schema)
  if (types.includes(typeof value)) return value
  if (typeof value === 'number' && types.includes('string')) return String(value)
  return typeof value === 'string' ? readText(value, types) : value
}

function typesOf({ type, anyOf = [] }: Schema): unknown[] {
  return [type, ...anyOf.map((schema) => schema.type)].flat()
}

function readText(text: string, types: readonly unknown[]): unknown {
  const isNumber = types.includes('number') || types.includes('integer')
  if (isNumber && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
