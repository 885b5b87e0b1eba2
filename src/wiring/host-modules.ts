import type { AgentDefinition } from '../definition/definition.ts'
import { reachableModules } from './reachable-modules.ts'
import { providersIn, type WiredModule } from './wiring.ts'

/** Protocols whose providers the host calls itself, for every entry point. */
const HOST_PROTOCOLS = ['InputGuard', 'OutputGuard', 'ApprovalPolicy'] as const
type HostProtocol = (typeof HOST_PROTOCOLS)[number]

/** Ids of the modules that provide them, in the order of the agent's file. */
export type HostModules = Readonly<Record<HostProtocol, readonly string[]>>

export function findHostModules(
  { modules: entries }: AgentDefinition,
  modules: readonly Pick<WiredModule, 'id' | 'module'>[],
): HostModules {
  const byId = new Map(modules.map((module) => [module.id, module]))
  const found = HOST_PROTOCOLS.map((protocol) => [protocol, providersIn(entries, byId, protocol)])
  return Object.fromEntries(found) as HostModules
}

/** Ids of these modules, and of all that they depend on. */
export function withDependencies(ids: readonly string[], modules: readonly WiredModule[]): ReadonlySet<string> {
  const handlers = Object.fromEntries(ids.map((id) => [id, id]))
  return new Set(reachableModules({ name: '', handlers }, modules).map(({ id }) => id))
}
