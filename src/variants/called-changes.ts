import { formatPath } from '../wire/format-path.ts'
import type { TracedChange, VariantChange } from '../wire/variant.ts'

type Changes = readonly VariantChange[]

/** Changes of an agent itself, without those of the agents that it calls. */
export function ownChanges(changes: Changes): Changes {
  return changes.filter(({ agent }) => agent === undefined)
}

/** Changes of a variant as one that is called meets them: its own, and those of the agents that it may call; undefined for none. */
export function changesOfCalled(changes: readonly TracedChange[], agentId: string): Changes | undefined {
  const found = changes.flatMap(({ agent, before: _before, ...own }): VariantChange[] => {
    if (agent === undefined) return []
    return [agent === agentId ? own : { agent, ...own }]
  })
  return found.length === 0 ? undefined : found
}

/** Changes that name an agent's own values by its id, without it. */
export function withoutOwnId(changes: Changes, agentId: string): VariantChange[] {
  return changes.map(({ agent, ...own }) => (agent === undefined || agent === agentId ? own : { agent, ...own }))
}

/** `orchestrator.system_prompt`, or `billing.orchestrator.system_prompt` of an agent that is called. */
export function namePlace({ agent, module, path }: Pick<VariantChange, 'agent' | 'module' | 'path'>): string {
  return `${agent === undefined ? '' : `${agent}.`}${module}.${formatPath(path)}`
}
