import { type ArgumentCheck, CHECK_MS, checkArguments } from '../../definition/check-arguments.ts'
import { compileSchema } from '../../definition/compile-schema.ts'
import { hasPatterns } from '../../definition/has-patterns.ts'
import { isTimeLimit, runLimited } from '../../definition/run-limited.ts'
import { messageOf } from '../../errors.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { ToolProvider } from '../../protocols/tool-provider.ts'

type Warn = (message: string) => void

/** Checks of the arguments of a module's tools against their schemas: each is made once, for all runs of the agent. */
export class ToolChecks {
  readonly #checks = new Map<string, { readonly schema: string; readonly check: ArgumentCheck }>()

  /** Returns the provider with the arguments of its calls checked, and converted where a model writes "5" for 5. */
  checked(provider: ToolProvider, warn: Warn): ToolProvider {
    let tools: readonly ToolDefinition[] | undefined
    const listTools: ToolProvider['listTools'] = async (run) => {
      tools = await provider.listTools(run)
      return tools
    }
    return {
      listTools,
      executeTool: async (name, args, run) => {
        const tool = (tools ?? (await listTools(run))).find((each) => each.name === name)
        return provider.executeTool(name, tool ? this.#checkOf(tool, warn)(args) : args, run)
      },
      ...(provider.needsApproval && { needsApproval: provider.needsApproval.bind(provider) }),
    }
  }

  #checkOf({ name, parameters = {} }: ToolDefinition, warn: Warn): ArgumentCheck {
    const schema = JSON.stringify(parameters)
    const known = this.#checks.get(name)
    if (known?.schema === schema) return known.check
    const keep = (check: ArgumentCheck) => {
      this.#checks.set(name, { schema, check })
      return check
    }
    const skip = (reason: string) => {
      warn(`describes '${name}' by a schema that ${reason}; its arguments are not checked.`)
      return keep((args) => args as Record<string, unknown>)
    }
    try {
      return keep(makeCheck(name, parameters, () => skip('takes too long to check')))
    } catch (error) {
      return skip(`cannot be used (${messageOf(error)})`)
    }
  }
}

/** @param giveUp returns the check to use in the place of one that takes too long */
function makeCheck(name: string, parameters: ToolDefinition['parameters'], giveUp: () => ArgumentCheck): ArgumentCheck {
  const compiled = compileSchema(parameters)
  const check: ArgumentCheck = (args) => checkArguments(name, compiled, args)
  if (!hasPatterns(parameters)) return check
  return (args) => {
    try {
      return runLimited(() => check(args), CHECK_MS)
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      return giveUp()(args)
    }
  }
}
