import type { Protocol } from '../protocols/protocol.ts'
import type { AgentHost } from './host.ts'

/** Ids of the modules of an agent that provide all these protocols. */
export function providersOf(
  host: Pick<AgentHost, 'describe'>,
  agentId: string,
  ...protocols: readonly Protocol[]
): string[] {
  const { modules = [] } = host.describe(agentId) ?? {}
  const found = modules.filter(({ provides }) => protocols.every(({ name }) => provides.includes(name)))
  return found.map(({ id }) => id)
}
