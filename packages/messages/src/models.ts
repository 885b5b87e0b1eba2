import type { AgentHost } from 'agent-host'
import { type Alias, agentOf } from './aliases.ts'
import type { Model } from './schema.ts'

/** Lists the agents, their entry points, and the aliases of those that there are. */
export function listModels(host: AgentHost, aliases: readonly Alias[]) {
  const own = host.list().flatMap(({ id, entryPoints }) => [id, ...entryPoints.map((name) => `${id}/${name}`)])
  // An alias before it may take its name to an agent that is gone.
  const others = aliases.filter(({ name }) => !own.includes(name) && host.has(agentOf(host, aliases, name)))
  const data = [...own, ...others.map(({ name }) => name)].map((name) => toModel(host, aliases, name))
  return { data, has_more: false, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

/** @throws HostError `AGENT_NOT_FOUND` */
export function toModel(host: AgentHost, aliases: readonly Alias[], name: string): Model {
  const { agent } = host.resolve(agentOf(host, aliases, name))
  // Nothing says when an agent was made: clients take the epoch for that.
  return { type: 'model', id: name, display_name: agent.description || agent.id, created_at: '1970-01-01T00:00:00Z' }
}
