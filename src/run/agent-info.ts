import { createHash } from 'node:crypto'
import type { AgentBlueprint } from '../wiring/plan-agent.ts'
import { ENTRY, entryPointOf } from '../wiring/wiring.ts'
import { capabilitiesOf } from './agent-capabilities.ts'
import type { AgentInfo } from './turn.ts'

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
    version: createHash('sha256').update(JSON.stringify(definition)).digest('hex'),
    attachments,
    takesClientTools,
    ...(approvalTtl === undefined ? {} : { approvalTtl }),
    ...(isRestartSafe ? { isRestartSafe } : {}),
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
