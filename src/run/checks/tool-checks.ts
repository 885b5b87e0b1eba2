import { type ArgumentCheck, makeLimitedCheck } from '../../definition/check-arguments.ts'
import { messageOf } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { ToolProvider } from '../../protocols/tool-provider.ts'

type Warn = (message: string) => void
type Call = Parameters<ToolProvider['executeTool']>

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
    const check = async (...[name, args, run]: Call): Promise<Call> => {
      const tool = (tools ?? (await listTools(run))).find((each) => each.name === name)
      return [name, tool ? this.#checkOf(tool, warn)(args) : args, run]
    }
    const { needsApproval } = provider
    return {
      listTools,
      executeTool: async (...call) => provider.executeTool(...(await check(...call))),
      // With the arguments that the tool will get: an argument that is left out may have a default.
      ...(needsApproval && {
        needsApproval: async (...call: Call) => {
          const checked = await check(...call)
          const need = await needsApproval.apply(provider, checked)
          return isObject(need) ? { arguments: checked[1], ...need } : need
        },
      }),
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
      return keep(makeLimitedCheck(name, parameters, (args) => skip('takes too long to check')(args)))
    } catch (error) {
      return skip(`cannot be used (${messageOf(error)})`)
    }
  }
}
