import { type AgentHost, HostError } from 'agent-host'

/** Further name of an agent. */
export interface Alias {
  /** `claude-sonnet-4-5`, or with one `*` at the end all that begin so. */
  readonly name: string
  readonly agent: string
}

/**
 * Reads `claude-haiku-*=fast,claude-*=coder`: the first that fits counts.
 *
 * @throws HostError `OPTION_INVALID`
 */
export function readAliases(text: string): readonly Alias[] {
  const entries = text.split(',').map((entry) => entry.trim())
  return entries.filter((entry) => entry !== '').map(readAlias)
}

function readAlias(entry: string): Alias {
  const [, name, agent] = /^([^=*]+\*?)=([^=]+)$/.exec(entry) ?? []
  if (name !== undefined && agent !== undefined) return { name: name.trim(), agent: agent.trim() }
  const suggestions = ['Write <name>=<agent>, with one * at the end of the name: claude-*=coder']
  throw new HostError('OPTION_INVALID', `Options of MessagesAdapter: '${entry}' is no alias.`, { suggestions })
}

/** Returns the agent that a name means: its own name before any alias. A name that is nobody's is returned as it is. */
export function agentOf(host: AgentHost, aliases: readonly Alias[], name: string): string {
  const alias = aliases.find((one) => fits(one, name))
  return alias === undefined || host.has(name) ? name : alias.agent
}

function fits({ name }: Alias, asked: string): boolean {
  return name.endsWith('*') ? asked.startsWith(name.slice(0, -1)) : asked === name
}
