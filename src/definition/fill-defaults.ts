import { Value } from 'typebox/value'
import { isObject } from '../json.ts'

/** The parts of JSON Schema that say where a default belongs. */
interface Schema {
  readonly default?: unknown
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly prefixItems?: readonly Schema[]
  readonly items?: Schema | readonly Schema[] | boolean
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

/** References in a row; more are a circle. */
const MAX_REFERENCES = 16

/**
 * Fills in the defaults that a value lacks, in place, and returns it. Any JSON schema will do: `Value.Default` of TypeBox passes over
 * those that TypeBox has not made.
 */
export function fillDefaults(schema: Schema, value: unknown): unknown {
  return fill(schema, value, schema)
}

function fill(given: Schema, value: unknown, root: Schema): unknown {
  const { schema, preset } = resolve(given, root)
  const filled = value === undefined ? structuredClone(preset) : value
  if (Array.isArray(filled)) return fillItems(schema, filled, root)
  if (isObject(filled)) fillProperties(schema, filled, root)
  const all = (schema.allOf ?? []).reduce((part, one) => fill(one, part, root), filled)
  return fillAlternative(schema.anyOf ?? schema.oneOf ?? [], all, root)
}

/** Follows references within the schema. What stands beside a reference counts first. */
function resolve(given: Schema, root: Schema): { readonly schema: Schema; readonly preset: unknown } {
  let [schema, preset] = [given, given.default]
  for (let left = MAX_REFERENCES; left > 0 && schema.$ref?.startsWith('#'); left--) {
    const target = schema.$ref
      .split('/')
      .slice(1)
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((place, part) => (isObject(place) ? place[part] : undefined), root)
    if (!isObject(target)) break
    schema = target
    preset ??= schema.default
  }
  return { schema, preset }
}

function fillProperties(schema: Schema, value: Record<string, unknown>, root: Schema): void {
  const { properties = {}, additionalProperties } = schema
  for (const [name, property] of Object.entries(properties)) {
    const filled = fill(property, Object.hasOwn(value, name) ? value[name] : undefined, root)
    if (filled !== undefined) value[name] = filled
  }
  if (!isObject(additionalProperties)) return
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(properties, name)) value[name] = fill(additionalProperties, value[name], root)
  }
}

function fillItems({ prefixItems, items }: Schema, values: unknown[], root: Schema): unknown[] {
  // Drafts before 2020-12 have the list in `items`.
  const first = prefixItems ?? (Array.isArray(items) ? items : [])
  const rest = isObject(items) ? items : {}
  return values.map((value, index) => fill(first[index] ?? rest, value, root))
}

/** Takes the first alternative that the value fits once it is filled. */
function fillAlternative(alternatives: readonly Schema[], value: unknown, root: Schema): unknown {
  for (const one of alternatives) {
    const { schema } = resolve(one, root)
    const filled = fill(schema, structuredClone(value), root)
    if (filled !== undefined && Value.Check(schema, filled)) return filled
  }
  return value
}
