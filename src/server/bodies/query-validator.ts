import type { TSchema } from 'typebox'
import { badRequest } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { type Checked, makeValidator } from './validator.ts'

/** Part of a schema that says how the text of a parameter is read. */
interface ParameterSchema {
  readonly type?: string
  readonly default?: unknown
  readonly anyOf?: readonly ParameterSchema[]
}

/**
 * Returns a function that checks the query of a request. Its texts are read as what the schema says: whole numbers, booleans, or
 * lists, whose parameters may be repeated. Parameters that are left out get their defaults; unknown ones are ignored.
 */
export function makeQueryValidator(schema: TSchema): (query: unknown) => Checked<unknown> {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, ParameterSchema>> }
  const parameters = Object.entries(properties)
  const validate = makeValidator(schema)
  return (query) => {
    const texts = fieldsOf(query)
    const repeated = parameters.find(([name, node]) => Array.isArray(texts[name]) && !takesList(node))
    if (repeated) {
      const [field] = repeated
      return { error: badRequest(`${field} must be given once.`, { field }) }
    }
    const values = parameters.map(([name, node]) => [name, readText(texts[name] ?? node.default, node)] as const)
    return validate(Object.fromEntries(values.filter(([, value]) => value !== undefined)))
  }
}

function takesList({ type, anyOf = [] }: ParameterSchema): boolean {
  return type === 'array' || anyOf.some(takesList)
}

/** Reads one parameter. A text that cannot be read stays as it is, and the schema refuses it. */
function readText(text: unknown, { type }: ParameterSchema): unknown {
  if (type === 'integer' && typeof text === 'string' && /^\d+$/.test(text)) return Number(text)
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}
