import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { fieldsOf, isObject, ownValue } from '../json.ts'
import { formatPath } from '../wire/format-path.ts'
import { didYouMean } from './nearest-name.ts'
import { listNames, type Path } from './problem.ts'

/** One thing that keeps a value from being an instance of a schema. */
export interface ValueProblem {
  readonly path: Path
  /** A sentence that names the field: `temperature must be <= 2.` */
  readonly message: string
  readonly suggestions: readonly string[]
}

/** The parts of JSON Schema that are read here. */
export interface SchemaNode {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: unknown
  readonly items?: SchemaNode
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  /** Marks a value that is never shown, or arguments of a program among which secrets may be. */
  readonly secret?: boolean | 'arguments'
  /** Tells whether a variant of an agent may change the value. */
  readonly variant?: boolean
}

interface FindOptions {
  readonly unknownKeys?: 'refuse' | 'ignore'
  /** Name of the value as a whole; default: It. */
  readonly subject?: string
}

/**
 * Everything that is wrong with `value`; empty when it fits. Unlike JSON Schema, an object with `properties` allows no
 * others unless it says `additionalProperties` or `patternProperties`: a misspelt key is an error, not a value lost.
 */
export function findValueProblems(
  schema: TSchema,
  validator: Validator,
  value: unknown,
  { unknownKeys: treatment = 'refuse', subject }: FindOptions = {},
): ValueProblem[] {
  const unknownKeys = treatment === 'refuse' ? findUnknownKeys(schema, value, []) : []
  if (unknownKeys.length === 0 && validator.Check(value)) return []
  const misfits = validator.Errors(value)
  const unions = misfits.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath)
  const unclear = unions.filter((pointer) => !hasOneAlike(schema, value, parsePointer(pointer)))
  const others = misfits
    .filter(({ keyword, instancePath }) => {
      if (unions.includes(instancePath) && !unclear.includes(instancePath)) return !KINDS.has(keyword)
      // The list of alternatives says enough: problems of each one would only add noise.
      return keyword === 'anyOf' || !unclear.some((pointer) => isWithin(instancePath, pointer))
    })
    .flatMap((misfit) => describeSchemaError(schema as SchemaNode, misfit, [], subject))
  return [...unknownKeys, ...others]
}

/** Keywords by which a union tells its alternatives apart. */
const KINDS: ReadonlySet<string> = new Set(['anyOf', 'type', 'const', 'enum'])

/** Tells whether exactly one alternative of the union at `path` is meant by the value there. */
function hasOneAlike(schema: TSchema, whole: unknown, path: Path): boolean {
  const value = path.reduce(ownValue, whole)
  return schemasAt(schema, path).filter((node) => isAlike(node, value)).length === 1
}

/** Tells whether the value has the type of the schema. A text may be meant to be any text, or one of several. */
export function isAlike({ type, allOf, const: only, enum: few }: SchemaNode, value: unknown): boolean {
  if (typeof value === 'string') return type === 'string' && only === undefined && few === undefined
  const kind = Array.isArray(value) ? 'array' : isObject(value) ? 'object' : undefined
  return kind !== undefined && kind === (type ?? allOf?.[0]?.type)
}

/** The schemas that a value at `path` may be an instance of: several where a union is passed, none where nothing is known. */
export function schemasAt(schema: TSchema, path: Path): SchemaNode[] {
  return path.reduce<SchemaNode[]>(
    (nodes, key) => nodes.flatMap((node) => childSchemas(node, key)).flatMap(withAlternatives),
    withAlternatives(schema as SchemaNode),
  )
}

/** A schema, or those that a union allows. */
export function withAlternatives(node: SchemaNode): SchemaNode[] {
  return node.anyOf ? node.anyOf.flatMap(withAlternatives) : [node]
}

/** The schemas of a value within one: none where nothing is known. */
export function childSchemas(node: SchemaNode, key: string | number): SchemaNode[] {
  if (typeof key === 'number') return node.items ? [node.items] : []
  const known = node.properties && Object.hasOwn(node.properties, key) ? node.properties[key] : undefined
  if (known) return [known]
  return Object.values(node.patternProperties ?? {})
}

function findUnknownKeys(node: SchemaNode, value: unknown, path: Path): ValueProblem[] {
  if (Array.isArray(value)) {
    return node.items ? value.flatMap((item, index) => findUnknownKeys(node.items ?? {}, item, [...path, index])) : []
  }
  if (typeof value !== 'object' || value === null || !node.properties) return []
  const { properties } = node
  const open = node.additionalProperties !== undefined || node.patternProperties !== undefined
  return Object.entries(value).flatMap(([key, child]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (known) return findUnknownKeys(known, child, [...path, key])
    return open ? [] : [unknownKey([...path, key], key, Object.keys(properties))]
  })
}

function unknownKey(path: Path, key: string, known: string[]): ValueProblem {
  const suggestions = didYouMean(key, known)
  if (suggestions.length === 0) {
    suggestions.push(known.length > 0 ? `Known keys: ${known.join(', ')}.` : 'No keys are known here.')
  }
  return { path, message: `The key '${formatPath(path)}' is not known.`, suggestions }
}

interface Misfit {
  readonly keyword: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

const NOT_EMPTY: ReadonlySet<string> = new Set(['minItems', 'minLength', 'minProperties'])
/** Keywords of problems that say what the value must be. */
const DESCRIBED: ReadonlySet<string> = new Set([...KINDS, 'minimum', 'maximum'])

/** @param base path of the value that the schema is for */
export function describeSchemaError(
  schema: SchemaNode,
  { keyword, instancePath, params, message }: Misfit,
  base: Path = [],
  subject?: string,
): ValueProblem[] {
  const inner = parsePointer(instancePath)
  const path = [...base, ...inner]
  if (keyword === 'required') {
    const { requiredProperties } = params as { requiredProperties: readonly string[] }
    return requiredProperties.map((key) => problemAt([...path, key], 'is missing'))
  }
  // Each of the properties has a misfit of its own.
  if (keyword === 'additionalProperties') return []
  // The schema `false`: a key that may not be there.
  if (keyword === 'boolean' && inner.length > 0) {
    const known = schemasAt(schema, inner.slice(0, -1)).flatMap((node) => Object.keys(node.properties ?? {}))
    return [unknownKey(path, String(inner.at(-1)), known)]
  }
  if (NOT_EMPTY.has(keyword) && fieldsOf(params).limit === 1) return [problemAt(path, 'must not be empty', subject)]
  const nodes = DESCRIBED.has(keyword) ? schemasAt(schema, inner) : []
  return [problemAt(path, nodes.length > 0 ? `must be ${describeSchemas(nodes)}` : message, subject)]
}

export function problemAt(path: Path, message: string, subject = 'It'): ValueProblem {
  return { path, message: `${path.length > 0 ? formatPath(path) : subject} ${message}.`, suggestions: [] }
}

export function describeSchemas(nodes: readonly SchemaNode[]): string {
  const values = nodes.flatMap((node) => node.enum ?? (node.const === undefined ? [] : [node.const])).map(String)
  const types = [...new Set(nodes.filter((node) => node.const === undefined && !node.enum).map(describeType))]
  if (values.length < 2) return joinByOr([...values.map((value) => `'${value}'`), ...types])
  const named = `one of ${listNames(values)}`
  return types.length > 0 ? `${named}, or ${joinByOr(types)}` : named
}

function joinByOr(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

function describeType({ type = 'valid', minimum, maximum }: SchemaNode): string {
  const name = TYPES[type] ?? type
  if (minimum !== undefined && maximum !== undefined) return `${name} from ${minimum} to ${maximum}`
  if (maximum !== undefined) return `${name} of at most ${maximum}`
  return minimum === undefined ? name : `${name} of at least ${minimum}`
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'a boolean',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** RFC 6901. */
function parsePointer(pointer: string): Path {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}

function isWithin(pointer: string, ancestor: string): boolean {
  return pointer === ancestor || pointer.startsWith(`${ancestor}/`)
}
