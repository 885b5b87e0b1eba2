import { badRequest, type HostError } from '../../errors.ts'
import type { ModelOptions } from '../../protocols/model-options.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { Capabilities } from '../../run/agent/agent-capabilities.ts'
import type { Dialect } from '../replies/dialect.ts'

/** A client's choice among its tools. `names` restricts it to some of them. */
export type ClientChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly tool: string }
  | { readonly names: readonly string[]; readonly mode: 'auto' | 'required' }

/** Effect of a client's choice. */
export interface ChosenTools {
  /** Tools that the model may call. */
  readonly clientTools: readonly ToolDefinition[]
  /** Choice that the model is given; undefined leaves it to the model. */
  readonly toolChoice: ModelOptions['toolChoice'] | undefined
}

/**
 * Applies a client's choice to its tools. `none` hides them: the agent's own are no business of the client. `required` without tools
 * of the client is left to those of the agent, and so is a name that the client's do not have, in an extended dialect. In another one,
 * a choice that cannot be met has no effect.
 *
 * @param findCapabilities returns those of the agent; called only where the choice demands a call
 * @throws HostError `REQUEST_INVALID` in an extended dialect, for a choice that names a tool that the client does not have, allows none,
 *   or requires a call where there is no tool
 */
export function chooseTools(
  tools: readonly ToolDefinition[],
  choice: ClientChoice,
  { isExtended }: Pick<Dialect, 'isExtended'>,
  findCapabilities: () => Capabilities,
): ChosenTools {
  const chosen = choose(tools, choice)
  if (isExtended) {
    const isOwn = typeof choice === 'object' && 'tool' in choice && !hasTool(tools, choice.tool)
    if (isOwn && findCapabilities().hasTools) return { ...chosen, toolChoice: choice }
    refuseUnmet(tools, choice, chosen)
    if (choice === 'required' && tools.length === 0 && !findCapabilities().hasTools) throw invalid(NO_TOOLS)
  } else if (chosen.toolChoice && chosen.clientTools.length > 0 && !findCapabilities().takesClientTools) {
    return { ...chosen, toolChoice: undefined }
  }
  return chosen
}

function choose(tools: readonly ToolDefinition[], choice: ClientChoice): ChosenTools {
  if (choice === 'none') return { clientTools: [], toolChoice: undefined }
  if (choice === 'auto') return { clientTools: tools, toolChoice: undefined }
  if (choice === 'required') return { clientTools: tools, toolChoice: choice }
  if ('tool' in choice) return { clientTools: tools, toolChoice: hasTool(tools, choice.tool) ? choice : undefined }
  const wanted = new Set(choice.names)
  const clientTools = tools.filter(({ name }) => wanted.has(name))
  const isDemanded = choice.mode === 'required' && clientTools.length > 0
  return { clientTools, toolChoice: isDemanded ? 'required' : undefined }
}

function refuseUnmet(tools: readonly ToolDefinition[], choice: ClientChoice, { clientTools }: ChosenTools): void {
  if (typeof choice === 'string') return
  const names = 'tool' in choice ? [choice.tool] : choice.names
  const known = new Set(tools.map(({ name }) => name))
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`tool_choice: there is no tool '${unknown}' in tools.`)
  if ('tool' in choice || choice.mode === 'auto' || clientTools.length > 0) return
  throw invalid('tool_choice requires a call, but allows no tool of the type function.')
}

const NO_TOOLS = 'tool_choice requires a call, but neither the request nor the agent has a tool.'

function hasTool(tools: readonly ToolDefinition[], wanted: string): boolean {
  return tools.some(({ name }) => name === wanted)
}

function invalid(message: string): HostError {
  return badRequest(message, { field: 'tool_choice' })
}
