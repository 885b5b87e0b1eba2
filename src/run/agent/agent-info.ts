import { hash } from 'node:crypto'
import type { Schedule, ToolMetadata, Trigger } from '../../definition/definition.ts'
import type { Scope } from '../../definition/scope.ts'
import type { ModuleSource } from '../../module/load-module.ts'
import type { AgentBlueprint } from '../../wiring/plan-agent.ts'
import { ENTRY, entryPointOf } from '../../wiring/wiring.ts'
import { capabilitiesOf } from './agent-capabilities.ts'

/** Public facts of an agent. Frozen. */
export interface AgentInfo extends ToolMetadata {
  readonly id: string
  readonly description: string
  /** Questions to try the agent with, from its file. */
  readonly examples: readonly string[]
  /** Beside the agent itself; empty when there is only one. */
  readonly entryPoints: readonly string[]
  /** Relative to the project; absent for an agent that was registered by a program. */
  readonly file?: string
  /** SHA-256 (hex) of the definition: equal for equal definitions. */
  readonly version: string
  /** Media types of the attachments that its messages may have, such as `image/*`; empty for text alone. */
  readonly attachments: readonly string[]
  /** True when it passes the tools of a client to its model. */
  readonly takesClientTools: boolean
  /** Seconds after which an undecided approval expires; absent: never. */
  readonly approvalTtl?: number
  /** True when a run that was cut off may begin again, even after it has said or done something. */
  readonly isRestartSafe?: boolean
  /** Absent without any. */
  readonly schedules?: readonly Schedule[]
  /** Without their secrets; absent without any. */
  readonly triggers?: readonly Omit<Trigger, 'secret'>[]
  readonly modules: readonly ModuleInfo[]
}

/** Public facts of a module of an agent. */
export interface ModuleInfo {
  readonly id: string
  /** The module reference. */
  readonly module: string
  readonly source: ModuleSource
  readonly scope: Scope
}

/** Public facts of an agent that is about to be opened. */
export function informOf({ source, modules, loaded, entryPoints }: AgentBlueprint): AgentInfo {
  const { definition, file } = source
  const { approvalTtl, isRestartSafe } = definition.runPolicy
  const byId = new Map(modules.map((module) => [module.id, module]))
  const { attachments, takesClientTools } = capabilitiesOf(entryPointOf(entryPoints, ENTRY), modules)
  return Object.freeze({
    id: definition.id,
    description: definition.description,
    examples: definition.examples,
    ...definition.toolMetadata,
    entryPoints: Object.freeze([...entryPoints.keys()].filter((name) => name !== ENTRY)),
    ...(file === undefined ? {} : { file }),
    version: hash('sha256', JSON.stringify(definition)),
    attachments,
    takesClientTools,
    ...(approvalTtl === undefined ? {} : { approvalTtl }),
    ...(isRestartSafe ? { isRestartSafe } : {}),
    ...(definition.schedules ? { schedules: definition.schedules } : {}),
    ...(definition.triggers ? { triggers: definition.triggers.map(({ secret: _hidden, ...shown }) => shown) } : {}),
    modules: definition.modules.map(({ id, module }) =>
      Object.freeze({
        id,
        module,
        source: loaded.get(id)?.source ?? 'library',
        scope: byId.get(id)?.scope ?? 'instance',
      }),
    ),
  })
}
