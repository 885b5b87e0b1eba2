import { HostError } from '../../errors.ts'
import type { ModelOptions } from '../../protocols/model-options.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'

/** A client's choice among its tools. `names` restricts it to some of them. */
export type ClientChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly tool: string }
  | { readonly names: readonly string[]; readonly mode: 'auto' | 'required' }

interface ChosenTools {
  /** Tools that the model may call. */
  readonly clientTools: readonly ToolDefinition[]
  /** Choice that the model is given; undefined leaves it to the model. */
  readonly toolChoice: ModelOptions['toolChoice'] | undefined
}

/**
 * Applies a client's choice to its tools. `none` hides them: the agent's own are no business of the client.
 *
 * @throws HostError `REQUEST_INVALID` for a choice of tools that the client does not have
 */
export function chooseTools(tools: readonly ToolDefinition[], choice: ClientChoice): ChosenTools {
  if (choice === 'none') return { clientTools: [], toolChoice: undefined }
  if (choice === 'auto') return { clientTools: tools, toolChoice: undefined }
  if (tools.length === 0) throw invalid('tool_choice needs tools.')
  if (choice === 'required') return { clientTools: tools, toolChoice: choice }
  if ('tool' in choice) {
    refuseUnknown(tools, [choice.tool])
    return { clientTools: tools, toolChoice: choice }
  }
  const { names, mode } = choice
  refuseUnknown(tools, names)
  const clientTools = tools.filter(({ name }) => names.includes(name))
  if (mode === 'auto') return { clientTools, toolChoice: undefined }
  if (clientTools.length === 0) throw invalid('tool_choice requires a call, but allows no tool of the type function.')
  return { clientTools, toolChoice: mode }
}

function refuseUnknown(tools: readonly ToolDefinition[], names: readonly string[]): void {
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name))
  if (unknown !== undefined) throw invalid(`tool_choice: there is no tool '${unknown}' in tools.`)
}

function invalid(message: string): HostError {
  return new HostError('REQUEST_INVALID', message, { field: 'tool_choice' })
}
