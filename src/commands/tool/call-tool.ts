import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { AgentEvent } from '../../run/call-event.ts'
import type { AgentDescription } from '../../wiring/describe-agent.ts'
import type { OpenAgents } from '../open-agents.ts'

/** A tool that an agent of the project has. */
export interface FoundTool extends ToolDefinition {
  readonly agent: string
}

export interface ToolCallOutcome {
  readonly text: string
  /** The same as a value, where the tool returned more than a text. */
  readonly data?: unknown
  readonly isError: boolean
  /** Message and stack of what the tool threw. */
  readonly exception?: string
}

const ID = 'agent-host-tool'
const CALLER = 'agent-host-caller'
const MODEL = 'agent-host-model'

/** Every tool of an agent. */
export async function listTools(agents: OpenAgents, agent: string): Promise<FoundTool[]> {
  const events = await runTools(agents, agent, { text: '-' })
  const lists = events.filter(({ method_name, event_type }) => method_name === 'listTools' && event_type === 'result')
  return lists.flatMap(({ result }) => (result as ToolDefinition[]).map((tool) => ({ ...tool, agent })))
}

/** Calls one tool of an agent, with its arguments checked, as a model would call it. */
export async function callTool(agents: OpenAgents, tool: FoundTool, args: object): Promise<ToolCallOutcome> {
  const reply = { tool_calls: [{ name: tool.name, arguments: args }] }
  const events = await runTools(agents, tool.agent, reply)
  const end = events.find(({ method_name, event_type }) => method_name === 'executeTool' && event_type !== 'call')
  if (!end) throw new Error(`The tool '${tool.name}' was not called.`)
  if (end.exception !== null) {
    return { text: end.exception.split('\n')[0] ?? '', isError: true, exception: end.exception }
  }
  const { text = '', data, isError = false } = end.result as { text?: string; data?: unknown; isError?: boolean }
  return { text, ...(data === undefined ? {} : { data }), isError }
}

/** The tools of an agent alone, with a scripted model in front of them: everything else is as the agent has it. */
async function runTools({ host }: OpenAgents, agent: string, reply: object): Promise<AgentEvent[]> {
  const description = host.describe(agent)
  const providers = description?.modules.filter(({ provides }) => provides.includes('ToolProvider')) ?? []
  if (!description || providers.length === 0) return []
  const events: AgentEvent[] = []
  await host.register(toolsOnly(description, reply))
  const stop = host.onEvent((event) => void events.push(event))
  try {
    await host.run(ID, 'tool')
    return events
  } finally {
    stop()
    host.unregister(ID)
  }
}

function toolsOnly({ modules, exchange }: AgentDescription, reply: object): object {
  const tools = modules.filter(({ provides }) => provides.includes('ToolProvider')).map(({ id }) => id)
  const kept = withDependencies(tools, exchange)
  return {
    id: ID,
    modules: [
      ...modules
        .filter(({ id }) => kept.has(id))
        .map(({ id, module, scope, config }) => ({ id, module, scope, config: escapeVariables(config) })),
      { id: MODEL, module: 'llm/mock', config: { replies: [escapeVariables(reply), { text: '-' }] } },
      { id: CALLER, module: 'orchestrator/tool-loop' },
    ],
    exchange: [
      ...linksOf(exchange.filter(({ module, provider }) => kept.has(module) && kept.has(provider))),
      { module: CALLER, protocol: 'LLM', provider: MODEL },
      { module: CALLER, protocol: 'ToolProvider', provider: tools },
      { module: '__entry__', protocol: 'TextMessageHandler', provider: CALLER },
    ],
  }
}

function withDependencies(ids: readonly string[], exchange: AgentDescription['exchange']): ReadonlySet<string> {
  const kept = new Set(ids)
  // A set that grows while it is walked: what is added is walked as well.
  for (const id of kept) for (const row of exchange) if (row.module === id) kept.add(row.provider)
  return kept
}

/** One entry for all providers of a dependency. */
function linksOf(rows: AgentDescription['exchange']): object[] {
  const links = new Map<string, { module: string; protocol: string; fieldName?: string; provider: string[] }>()
  for (const { module, protocol, provider, fieldName } of rows) {
    const key = JSON.stringify([module, protocol, fieldName])
    const link = links.get(key) ?? { module, protocol, ...(fieldName ? { fieldName } : {}), provider: [] }
    link.provider.push(provider)
    links.set(key, link)
  }
  return [...links.values()]
}

/** No variables are left to fill in: what looks like one is text. */
function escapeVariables(config: unknown): unknown {
  return JSON.parse(JSON.stringify(config).replaceAll('${', () => '$${'))
}
