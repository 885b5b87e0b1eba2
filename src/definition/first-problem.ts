import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { isObject } from '../json.ts'
import type { Path } from './problem.ts'
import {
  describeSchemaError,
  describeSchemas,
  isAlike,
  problemAt,
  type SchemaNode,
  type ValueProblem,
} from './schema-problems.ts'

/**
 * First thing that keeps a value from being an instance of a schema, at the innermost field that is wrong: inside a union, the
 * alternative that the value is meant to be is looked into. Keys that the schema does not know are no problem.
 *
 * @param schema without references
 * @returns undefined when the value fits
 */
export function findFirstProblem(schema: TSchema, value: unknown): ValueProblem | undefined {
  return fits(schema, value) ? undefined : locate(schema as SchemaNode, value, [])
}

/** @param value does not fit */
function locate(node: SchemaNode, value: unknown, path: Path): ValueProblem {
  if (node.anyOf) return locateInUnion(node, value, path)
  const broken = node.allOf?.find((rule) => !fits(rule, value))
  if (broken) return locate(broken, value, path)
  const step = findStep(node, value)
  if (step) return locate(step.node, step.value, [...path, step.key])
  const [misfit] = Value.Errors(withoutParts(node), value)
  const [problem] = misfit ? describeSchemaError(node, misfit, path) : []
  return problem ?? problemAt(path, 'is not valid')
}

/** The first part of an array or object that does not fit. */
function findStep(
  node: SchemaNode,
  value: unknown,
): { node: SchemaNode; value: unknown; key: string | number } | undefined {
  const { items, properties = {} } = node
  if (Array.isArray(value)) {
    const key = items ? findMisfit(items, value) : -1
    return items && key !== -1 ? { node: items, value: value[key], key } : undefined
  }
  if (!isObject(value)) return undefined
  const wrong = Object.entries(properties).find(([key, child]) => Object.hasOwn(value, key) && !fits(child, value[key]))
  return wrong && { node: wrong[1], value: value[wrong[0]], key: wrong[0] }
}

function locateInUnion(union: SchemaNode, value: unknown, path: Path): ValueProblem {
  const all = alternativesOf(union)
  const alike = all.filter((node) => isAlike(node, value))
  const [only, other] = alike
  if (only && !other) return locate(only, value, path)
  if (!isObject(value) || !only) return problemAt(path, `must be ${describeSchemas(all)}`)
  return locateByConstant(alike, value, path)
}

/** Objects of a union are told apart by a property whose value is constant: their type, or role. */
function locateByConstant(alike: readonly SchemaNode[], value: Record<string, unknown>, path: Path): ValueProblem {
  const meant = alike.find(({ properties = {} }) =>
    constantsOf(properties).every(([key, child]) => fits(child, value[key])),
  )
  if (meant) return locate(meant, value, path)
  const [key] = constantsOf(alike[0]?.properties ?? {})[0] ?? []
  if (key === undefined) return problemAt(path, `must be ${describeSchemas(alike)}`)
  const known = alike.flatMap(({ properties }) => properties?.[key] ?? [])
  return problemAt([...path, key], Object.hasOwn(value, key) ? `must be ${describeSchemas(known)}` : 'is missing')
}

function constantsOf(properties: Readonly<Record<string, SchemaNode>>): [string, SchemaNode][] {
  return Object.entries(properties).filter(([, child]) => child.const !== undefined)
}

function alternativesOf(node: SchemaNode): SchemaNode[] {
  return node.anyOf ? node.anyOf.flatMap(alternativesOf) : [node]
}

/** To compile a schema costs a millisecond, to interpret it a tenth of that for each part of the value. */
function fits(node: SchemaNode, value: unknown): boolean {
  return isLarge(value) ? Compile(node).Check(value) : Value.Check(node as TSchema, value)
}

function findMisfit(items: SchemaNode, list: readonly unknown[]): number {
  if (!isLarge(list)) return list.findIndex((item) => !fits(items, item))
  const validator = Compile(items)
  return list.findIndex((item) => !validator.Check(item))
}

const MAX_SMALL_PARTS = 200

/** Counts parts of parts until there are too many. */
function isLarge(value: unknown): boolean {
  const pending = [value]
  for (let parts = 0; parts < pending.length; parts++) {
    if (parts > MAX_SMALL_PARTS) return true
    const part = pending[parts]
    if (typeof part !== 'object' || part === null) continue
    const inner = Object.values(part)
    if (inner.length > MAX_SMALL_PARTS) return true
    pending.push(...inner)
  }
  return false
}

/** Returns the schema without its parts, for a value whose parts fit. */
function withoutParts({ items: _items, ...node }: SchemaNode): SchemaNode {
  const isClosed = node.additionalProperties !== undefined || node.patternProperties !== undefined
  return isClosed || !node.properties ? node : { ...node, properties: {} }
}
