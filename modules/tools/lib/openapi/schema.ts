import { fieldsOf, isObject } from 'agent-host'
import { LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA } from '../schema-words.ts'
import type { Json, OpenApiDocument } from './document.ts'

const ONE = [...ONE_SCHEMA, 'unevaluatedProperties']
/** Mean nothing to a model, or something else than in JSON Schema. */
const DROPPED = ['xml', 'externalDocs', 'discriminator', 'example', 'nullable', '$schema', '$id']

/** Schemas that the arguments of all chosen operations may have together: a model would read them all. */
export const MAX_SCHEMAS = 100_000

export interface SchemaBudget {
  left: number
}

/**
 * Collects the schemas of a tool's arguments: references become `#/$defs/...` of one self-contained JSON Schema, also in
 * circles, and what OpenAPI 3.0 says in its own way is said as JSON Schema does.
 */
export class SchemaCollector {
  readonly definitions: Record<string, Json> = {}
  readonly #document: OpenApiDocument
  readonly #budget: SchemaBudget
  readonly #names = new Map<string, string>()
  /** Number of definitions by the names that they would have alone. */
  readonly #counts = new Map<string, number>()

  constructor(document: OpenApiDocument, budget: SchemaBudget) {
    this.#document = document
    this.#budget = budget
  }

  convert(schema: unknown, file: string): Json | boolean {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) return {}
    if (--this.#budget.left < 0) {
      const chosen = `the chosen operations of ${this.#document.name}`
      throw new Error(`operations: ${chosen} have more than ${MAX_SCHEMAS} schemas in their arguments. Choose fewer.`)
    }
    const { $ref: reference, ...beside } = schema
    if (typeof reference === 'string') {
      const target = { $ref: `#/$defs/${this.#define(reference, file)}` }
      const { description } = beside
      return typeof description === 'string' ? { ...target, description } : target
    }
    const converted: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (DROPPED.includes(keyword) || keyword.startsWith('x-')) continue
      checkPatterns(keyword, value)
      converted[keyword] = this.#convertValue(keyword, value, file)
    }
    return inJsonSchema(converted, schema)
  }

  #convertValue(keyword: string, value: unknown, file: string): unknown {
    if (ONE.includes(keyword)) return this.convert(value, file)
    if (LIST_OF_SCHEMAS.includes(keyword) && Array.isArray(value)) return value.map((each) => this.convert(each, file))
    if (!MAP_OF_SCHEMAS.includes(keyword) || !isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.convert(each, file)]))
  }

  #define(reference: string, from: string): string {
    const { value, file } = this.#document.follow(reference, from)
    const key = `${file} ${reference.split('#')[1] ?? ''}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const base = (reference.split('/').at(-1) ?? 'schema').replace(/[^A-Za-z0-9_-]/g, '_') || 'schema'
    let count = this.#counts.get(base) ?? 0
    let name = base
    do name = ++count === 1 ? base : `${base}_${count}`
    while (name in this.definitions)
    this.#counts.set(base, count)
    this.#names.set(key, name)
    this.definitions[name] = {}
    const converted = this.convert(value, file)
    this.definitions[name] = typeof converted === 'boolean' ? (converted ? {} : { not: {} }) : converted
    return name
  }
}

/** @throws SyntaxError for what is no pattern in JavaScript: its check may be built much later */
function checkPatterns(keyword: string, value: unknown): void {
  const patterns = keyword === 'pattern' ? [value] : keyword === 'patternProperties' ? Object.keys(fieldsOf(value)) : []
  for (const pattern of patterns) if (typeof pattern === 'string') new RegExp(pattern, 'u')
}

/** OpenAPI 3.0 has `nullable`, and limits that a flag makes exclusive. */
function inJsonSchema(schema: Record<string, unknown>, { nullable }: Json): Json {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    const isExclusive = schema[flag]
    delete schema[flag]
    if (!isExclusive || schema[limit] === undefined) continue
    schema[flag] = schema[limit]
    delete schema[limit]
  }
  if (nullable !== true) return schema
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  const withNull = { ...schema, type: [schema.type, 'null'] }
  return Array.isArray(schema.enum) ? { ...withNull, enum: [...new Set([...schema.enum, null])] } : withNull
}
