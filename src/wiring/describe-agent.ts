import type { AgentDefinition } from '../definition/definition.ts'
import type { Scope } from '../definition/scope.ts'
import type { ModuleSource } from '../module/load-module.ts'
import { findHostModules } from './host-modules.ts'
import type { AgentBlueprint } from './plan-agent.ts'
import { shownConfig } from './shown-config.ts'
import { getAt, listVariables } from './variables.ts'
import { ENTRY, providedBy } from './wiring.ts'

/** Modules and wiring of an agent, for `agent_config` of the debug UI. */
export interface AgentDescription {
  readonly modules: readonly ModuleDescription[]
  /** One row a provider, inferred wiring included. */
  readonly exchange: readonly ExchangeRow[]
}

/** Module of an agent with its config. */
export interface ModuleDescription {
  readonly id: string
  /** The module reference. */
  readonly module: string
  readonly moduleClass: string
  readonly description: string
  readonly source: ModuleSource
  readonly scope: Scope
  /** With defaults added, variables as written, and `[redacted]` for fields that the schema marks as secret. */
  readonly config: Readonly<Record<string, unknown>>
  /** Places of secrets, from the root of the agent's file. */
  readonly secretPaths: readonly (readonly (string | number)[])[]
  /** Values that a variant of the agent may change. */
  readonly variables: readonly DescribedVariable[]
  /** Names of protocols. */
  readonly provides: readonly string[]
  readonly uses: readonly string[]
}

/** Value of a config that a variant may change, as {@link ModuleDescription.config} has it. */
export interface DescribedVariable {
  /** Keys and indexes from the config. */
  readonly path: readonly (string | number)[]
  /** JSON Schema of the value. */
  readonly schema: object
  /** Undefined where it is left out. */
  readonly value: unknown
}

/** Link from a module to a provider; one row for each provider. */
export interface ExchangeRow {
  /** The module that depends, or `__entry__`. */
  readonly module: string
  readonly protocol: string
  /** A module id, `__response__`, `__conversation__` or `__storage__`. */
  readonly provider: string
  readonly fieldName: string | undefined
}

/** Source of a description; without the parts of the definition that hold on to its text. */
export interface DescribedAgent extends Pick<AgentBlueprint, 'modules' | 'loaded' | 'entryPoints'> {
  readonly definition: AgentDefinition
}

/** In the order of the agent's file. */
export function describeAgent({ definition, modules, loaded, entryPoints }: DescribedAgent): AgentDescription {
  const byId = new Map(modules.map((module) => [module.id, module]))
  const described = definition.modules.flatMap((entry, index): ModuleDescription[] => {
    const { id, config: written } = entry
    const wired = byId.get(id)
    const from = loaded.get(id)
    if (!wired || !from) return []
    const { module, reference, scope, config, links } = wired
    const shown = shownConfig(module.config, config, written)
    return [
      {
        id,
        module: reference,
        moduleClass: module.name,
        description: module.description,
        source: from.source,
        scope,
        config: shown.config,
        secretPaths: shown.secretPaths.map((path) => ['modules', index, 'config', ...path]),
        variables: listVariables(module, config).map((variable) => ({
          ...variable,
          value: getAt(shown.config, variable.path),
        })),
        provides: providedBy(module, entry),
        uses: [...new Set(links.map(({ protocol }) => protocol))],
      },
    ]
  })
  const links = described.flatMap(({ id }) => (byId.get(id)?.links ?? []).map((link) => ({ id, ...link })))
  const rows = links.flatMap(({ id, protocol, providers, field }) =>
    providers.map((provider): ExchangeRow => ({ module: id, protocol, provider, fieldName: field })),
  )
  const called = Object.entries(findHostModules(definition, modules)).flatMap(([protocol, ids]) =>
    ids.map((provider): ExchangeRow => ({ module: ENTRY, protocol, provider, fieldName: undefined })),
  )
  return { modules: described, exchange: [...describeEntries(entryPoints), ...called, ...rows] }
}

function describeEntries(entryPoints: AgentBlueprint['entryPoints']): ExchangeRow[] {
  const rows = [...entryPoints.values()].flatMap(({ handlers }) =>
    Object.entries(handlers).map(([protocol, provider]) => ({ protocol, provider })),
  )
  // The plain agent is one of its entry points once more.
  const distinct = new Map(rows.map((row) => [`${row.protocol} ${row.provider}`, row]))
  return [...distinct.values()].map((row) => ({ module: ENTRY, ...row, fieldName: undefined }))
}
