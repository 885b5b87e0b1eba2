import { badRequest } from '../../errors.ts'
import type { Protocol } from '../../protocols/protocol.ts'
import { ToolProvider } from '../../protocols/tool-provider.ts'
import type { HostModules } from '../../wiring/host-modules.ts'
import type { AgentBlueprint } from '../../wiring/plan-agent.ts'
import { reachableModules } from '../../wiring/reachable-modules.ts'
import { type EntryPoint, entryPointOf, type WiredModule } from '../../wiring/wiring.ts'
import type { Turn } from '../turn.ts'

type Overrides = NonNullable<Turn['overrides']>

/** The modules of an agent that its runs create instances of. */
export class RunModules {
  readonly #blueprint: AgentBlueprint
  readonly #hostModules: HostModules
  /** By entry point. */
  readonly #needed: ReadonlyMap<string, readonly WiredModule[]>

  constructor(blueprint: AgentBlueprint, hostModules: HostModules) {
    this.#blueprint = blueprint
    this.#hostModules = hostModules
    this.#needed = new Map([...blueprint.entryPoints].map(([name, entry]) => [name, this.#instancesFor(entry)]))
  }

  /** Those of a run at an entry point. */
  of(entryPoint: string): readonly WiredModule[] {
    return this.#needed.get(entryPoint) ?? []
  }

  /**
   * Those of a run that replaces some.
   *
   * @param known names of all that can be replaced
   * @throws HostError `REQUEST_INVALID` for another name
   */
  withOverrides(entryPoint: string, overrides: Overrides, known: readonly string[]): readonly WiredModule[] {
    const { entryPoints, source } = this.#blueprint
    const unknownName = Object.keys(overrides).find((id) => !known.includes(id))
    if (unknownName !== undefined) {
      const agentId = source.definition.id
      throw badRequest(`Agent '${agentId}' has no module '${unknownName}' to override.`, {
        suggestions: [`Its modules: ${known.join(', ')}.`],
      })
    }
    return this.#instancesFor(entryPointOf(entryPoints, entryPoint), new Set(Object.keys(overrides)))
  }

  /** Those of a call of a single module. */
  ofCall(moduleId: string, { name }: Protocol): readonly WiredModule[] {
    const policies = name === ToolProvider.name ? this.#hostModules.ApprovalPolicy : []
    return this.#instancesFor({ name: moduleId, handlers: { [name]: moduleId } }, new Set(), policies)
  }

  /** @param called ids of modules that the host calls itself */
  #instancesFor(
    { name, handlers }: EntryPoint,
    overridden: ReadonlySet<string> = new Set(),
    called: readonly string[] = Object.values(this.#hostModules).flat(),
  ): readonly WiredModule[] {
    const ofHost = Object.fromEntries(called.map((id) => [`host:${id}`, id]))
    const entry = { name, handlers: { ...handlers, ...ofHost } }
    return reachableModules(entry, this.#blueprint.modules, overridden).filter(({ scope }) => scope === 'instance')
  }
}
