import { hasCode } from '../../errors.ts'
import { providersOf } from '../../host/providers-of.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import { ToolProvider, type ToolResult } from '../../protocols/tool-provider.ts'
import { describeException } from '../../run/calls/agent-events.ts'
import type { OpenAgents } from '../agents/open-agents.ts'

/** A tool that an agent of the project has. */
export interface FoundTool extends ToolDefinition {
  readonly agent: string
  /** Id of the module that provides it. */
  readonly module: string
}

export interface ToolCallOutcome extends ToolResult {
  /** Message and stack of the tool's error. */
  readonly exception?: string
}

/** Every tool of an agent. */
export async function listTools(agents: OpenAgents, agent: string): Promise<FoundTool[]> {
  const lists = await Promise.all(directProvidersOf(agents, agent).map((module) => listToolsOf(agents, agent, module)))
  return lists.flat()
}

/** Modules that provide tools directly, without those behind a filter. */
function directProvidersOf({ host }: OpenAgents, agent: string): string[] {
  const { exchange = [] } = host.describe(agent) ?? {}
  const ids = providersOf(host, agent, ToolProvider)
  const filtered = exchange.filter(({ module, protocol }) => protocol === ToolProvider.name && ids.includes(module))
  return ids.filter((id) => !filtered.some(({ provider }) => provider === id))
}

async function listToolsOf({ host }: OpenAgents, agent: string, module: string): Promise<FoundTool[]> {
  const tools = await host.callModule(agent, {
    moduleId: module,
    protocol: ToolProvider,
    isLook: true,
    act: (provider, run) => provider.listTools(run),
  })
  return (tools ?? []).map((tool) => ({ ...tool, agent, module }))
}

/** Calls one tool of an agent, with its arguments checked as they are for a model. */
export async function callTool(
  { host }: OpenAgents,
  { agent, module: moduleId, name }: FoundTool,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolCallOutcome> {
  try {
    const result = await host.callModule(agent, {
      moduleId,
      protocol: ToolProvider,
      act: (tools, run) => tools.executeTool(name, args, run),
    })
    return (
      result ?? {
        text: `The tool '${name}' waits for an approval or an answer, which this command cannot give. Ask its agent: agent-host chat ${agent}`,
        isError: true,
      }
    )
  } catch (error) {
    if (!hasCode(error, 'AGENT_FAILED')) throw error
    return { text: error.message, isError: true, exception: describeException(error.cause) }
  }
}
