import { type CompiledSchema, compileSchema, hasPatterns, isTimeLimit, runLimited } from 'agent-host'
import { coerce } from './coerce.ts'

/** Time of one check: a pattern may backtrack for ever. */
const CHECK_MS = 200

/** @throws Error that names the tool and every field that does not fit */
export type ArgumentCheck = (args: unknown) => Record<string, unknown>

/** Makes the check of the arguments of a tool, from their JSON Schema. */
export function makeArgumentCheck(name: string, parameters: Parameters<typeof compileSchema>[0]): ArgumentCheck {
  const compiled = compileSchema(parameters)
  const check: ArgumentCheck = (args) => checkArguments(name, compiled, args)
  if (!hasPatterns(parameters)) return check
  return (args) => {
    try {
      return runLimited(() => check(args), CHECK_MS)
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      throw new Error(`Wrong arguments for '${name}': their check takes longer than ${CHECK_MS} ms.`)
    }
  }
}

/**
 * The arguments as a tool expects them: models write "5" for 5, and omit arguments with a default.
 *
 * @throws Error that names the tool and every field that does not fit
 */
export function checkArguments(tool: string, parameters: CompiledSchema, args: unknown): Record<string, unknown> {
  const filled = parameters.fill(coerce(parameters.schema, args))
  if (parameters.matches(filled)) return filled as Record<string, unknown>
  throw new Error(`Wrong arguments for '${tool}': ${parameters.problems(filled, 'arguments').join(' ')}`)
}
