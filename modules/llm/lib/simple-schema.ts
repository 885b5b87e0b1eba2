import { fieldsOf, isObject } from 'agent-host'

type Schema = Readonly<Record<string, unknown>>

/**
 * Schema of an object without what many vendors refuse at its top: alternatives become properties of the object, and only what all of them require is
 * required. It accepts more than before; who executes the tool checks the arguments.
 */
export function simpleSchema(schema: Schema): Schema {
  const { anyOf, oneOf, allOf, enum: _enum, not: _not, const: _const, if: _if, then, else: other, ...rest } = schema
  // Many branches may refer to the same schema.
  const branchesOf = (list: unknown) =>
    Array.isArray(list) ? [...new Set(list.map((branch) => resolve(branch, schema)))] : []
  const ways = [branchesOf(anyOf), branchesOf(oneOf)]
  const parts = branchesOf(allOf)
  const branches = [...parts, ...ways.flat(), ...branchesOf([then, other])]
  const required = [rest, ...parts].flatMap(requiredOf).concat(ways.flatMap(requiredByAll))
  return {
    ...rest,
    type: 'object',
    properties: mergeProperties(fieldsOf(rest.properties), branches),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  }
}

/** Follows a reference within the schema. */
function resolve(branch: unknown, root: Schema): Schema {
  const { $ref } = fieldsOf(branch)
  if (typeof $ref !== 'string') return fieldsOf(branch)
  const path = $ref.split('/').slice(1)
  return fieldsOf(path.reduce<unknown>((part, name) => fieldsOf(part)[name], root))
}

function mergeProperties(own: Schema, branches: readonly Schema[]): Schema {
  const found = new Map<string, unknown[]>()
  for (const { properties } of branches) {
    for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
      const same = found.get(name)
      if (same) same.push(property)
      else found.set(name, [property])
    }
  }
  const merged = [...found].map(([name, schemas]) => [name, oneOrAny(schemas)])
  return { ...Object.fromEntries(merged), ...own }
}

function oneOrAny(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct }
}

function requiredOf({ required }: Schema): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

function requiredByAll(ways: readonly Schema[]): string[] {
  const [first = [], ...others] = ways.map(requiredOf)
  const sets = others.map((names) => new Set(names))
  return first.filter((name) => sets.every((names) => names.has(name)))
}
