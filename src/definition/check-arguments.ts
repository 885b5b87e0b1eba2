import { type CompiledSchema, compileSchema } from './compile-schema.ts'
import { hasPatterns } from './has-patterns.ts'
import { isTimeLimit, runLimited } from './run-limited.ts'

/** Time of one check: a pattern may backtrack for ever. */
const CHECK_MS = 200

/** @throws Error that names the tool and every field that does not fit */
export type ArgumentCheck = (args: unknown) => Record<string, unknown>

/**
 * Makes the check of the arguments of a tool, from their JSON Schema.
 *
 * @example
 * ```ts
 * const checkOrder = makeArgumentCheck('find_order', { type: 'object', properties: { id: { type: 'string' } } })
 *
 * export function orderOf(args: Readonly<Record<string, unknown>>): string {
 *   return String(checkOrder(args).id)
 * }
 * ```
 */
export function makeArgumentCheck(name: string, parameters: Parameters<typeof compileSchema>[0]): ArgumentCheck {
  return makeLimitedCheck(name, parameters, () => {
    throw new Error(`Wrong arguments for '${name}': their check takes longer than ${CHECK_MS} ms.`)
  })
}

/** @param onTimeLimit is called for arguments whose check takes too long, in its place */
export function makeLimitedCheck(
  name: string,
  parameters: Parameters<typeof compileSchema>[0],
  onTimeLimit: ArgumentCheck,
): ArgumentCheck {
  const compiled = compileSchema(parameters)
  const check: ArgumentCheck = (args) => checkArguments(name, compiled, args)
  if (!hasPatterns(parameters)) return check
  return (args) => {
    try {
      return runLimited(() => check(args), CHECK_MS)
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      return onTimeLimit(args)
    }
  }
}

/**
 * The arguments as a tool expects them: models write "5" for 5, and omit arguments with a default.
 *
 * @throws Error that names the tool and every field that does not fit
 *
 * @example
 * ```ts
 * const transfer = compileSchema({ type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] })
 *
 * export function eurosOf(args: Readonly<Record<string, unknown>>): number {
 *   return Number(checkArguments('transfer', transfer, args).euros)
 * }
 * ```
 */
export function checkArguments(tool: string, parameters: CompiledSchema, args: unknown): Record<string, unknown> {
  const filled = parameters.fill(coerce(parameters.schema, args))
  if (parameters.matches(filled)) return filled as Record<string, unknown>
  throw new Error(`Wrong arguments for '${tool}': ${parameters.problems(filled, 'arguments').join(' ')}`)
}

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
  return typeof value === 'string' ? coerceText(value, types) : value
}

function typesOf({ type, anyOf = [] }: Schema): unknown[] {
  return [type, ...anyOf.map((schema) => schema.type)].flat()
}

function coerceText(text: string, types: readonly unknown[]): unknown {
  const isNumber = types.includes('number') || types.includes('integer')
  if (isNumber && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
