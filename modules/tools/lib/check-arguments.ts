import type { CompiledSchema } from 'agent-host'
import { coerce } from './coerce.ts'

/**
 * The arguments as a tool expects them: models write "5" for 5, and omit arguments with a default.
 *
 * @throws Error that names the tool and every field that does not fit
 */
export function checkArguments(tool: string, parameters: CompiledSchema, args: unknown): Record<string, unknown> {
  const filled = parameters.fill(coerce(parameters.schema, structuredClone(args)))
  if (parameters.matches(filled)) return filled as Record<string, unknown>
  throw new Error(`Wrong arguments for '${tool}': ${parameters.problems(filled, 'arguments').join(' ')}`)
}
