import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { Value } from 'typebox/value'
import { coerce } from './coerce.ts'

/**
 * The arguments as a tool expects them: models write "5" for 5, and omit arguments with a default.
 *
 * @throws Error that names the tool and every field that does not fit
 */
export function checkArguments(
  tool: string,
  parameters: TSchema,
  validator: Validator,
  args: unknown,
): Record<string, unknown> {
  const filled = Value.Default(parameters, coerce(parameters, structuredClone(args)))
  if (validator.Check(filled)) return filled as Record<string, unknown>
  const problems = validator.Errors(filled).map(({ instancePath, message }) => {
    return `${instancePath.slice(1).replaceAll('/', '.') || 'arguments'} ${message}`
  })
  throw new Error(`Wrong arguments for '${tool}': ${[...new Set(problems)].join('; ')}.`)
}
