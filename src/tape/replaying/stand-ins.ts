import { Type } from 'typebox'
import { type DefinitionSource, readDefinition } from '../../definition/definition.ts'
import { AgentError, type Problem } from '../../definition/problem.ts'
import { toAgentFile } from '../../definition/to-agent-file.ts'
import type { Module } from '../../module/define-module.ts'
import type { LoadedModule } from '../../module/load-module.ts'
import type { BoundedAgent } from '../../run/calls/boundaries.ts'
import { readVariant } from '../../variants/plan-variant.ts'
import type { VariantChange } from '../../wire/variant.ts'
import { findHostModules } from '../../wiring/host-modules.ts'
import { inlineFiles } from '../../wiring/inline-files.ts'
import { type Project, prepareConfig } from '../../wiring/plan-agent.ts'
import { planWiring } from '../../wiring/plan-wiring.ts'
import type { PlannedModule } from '../../wiring/wiring.ts'
import { isBoundary } from '../boundary.ts'

export interface StandInOptions {
  readonly project: Project
  /** As an agent file has it: text, or plain data. */
  readonly source: unknown
  readonly file: string | undefined
  /** Ids of modules that are made for real. */
  readonly live: ReadonlySet<string>
  /** Values of its configs to change. */
  readonly changes: readonly VariantChange[]
}

/**
 * Returns an agent with stand-ins for the modules whose calls come from a tape, and for those that only they use: none of their code
 * runs, and none of their configuration is needed. Modules that cannot be loaded stay, for the error of the plan.
 *
 * @throws AgentError `AGENT_INVALID` for a definition that cannot be read, and for changes that no variant may have
 */
export async function withStandIns({ project, source, file, live, changes }: StandInOptions): Promise<{
  readonly agent: Record<string, unknown>
  /** The agent without them. */
  readonly bounded: Pick<BoundedAgent, 'definition' | 'loaded' | 'file'>
}> {
  const written = readDefinition(source, file)
  const loaded = await loadAll(written, project)
  const problems: Problem[] = []
  const read = await inlineFiles(written, { dir: project.dir, loaded, files: new Set(), problems })
  const needed = findNeeded(read, loaded, live)
  const varied = readVariant({ definition: read.definition, loaded, file }, changes)
  const { definition } = varied
  const modules = definition.modules.map((entry, index) => {
    const module = loaded.get(entry.id)
    if (!module || needed.has(entry.id)) return entry
    // The plan sees no config of a stand-in.
    if (changes.some(({ module: id }) => id === entry.id))
      prepareConfig(varied, entry, index, module, project, problems)
    return { ...entry, module: standInFor(module.module), config: {} }
  })
  if (problems.length > 0) throw new AgentError('AGENT_INVALID', problems)
  return { agent: { ...toAgentFile(definition), modules }, bounded: { definition, loaded, file } }
}

async function loadAll({ definition }: DefinitionSource, { loader }: Project): Promise<Map<string, LoadedModule>> {
  const loads = await Promise.allSettled(definition.modules.map(({ module }) => loader.load(module)))
  return new Map(
    loads.flatMap((load, index): [string, LoadedModule][] =>
      load.status === 'fulfilled' ? [[definition.modules[index]?.id ?? '', load.value]] : [],
    ),
  )
}

/** Ids of the modules that a replay makes for real. */
function findNeeded(
  read: DefinitionSource,
  loaded: ReadonlyMap<string, LoadedModule>,
  live: ReadonlySet<string>,
): ReadonlySet<string> {
  const wiring = planWiring(read, new Map([...loaded].map(([id, { module }]) => [id, module])))
  if ('problems' in wiring) return new Set(loaded.keys())
  const { modules, entryPoints } = wiring.plan
  const byId = new Map(modules.map((module) => [module.id, module]))
  const isNeeded = (id: string) => live.has(id) || !isPlayed(loaded.get(id)?.module)
  const needed = new Set<string>()
  const visit = (id: string): void => {
    const module: PlannedModule | undefined = byId.get(id)
    if (!module || needed.has(id) || !isNeeded(id)) return
    needed.add(id)
    for (const provider of module.links.flatMap(({ providers }) => providers)) visit(provider)
  }
  for (const { handlers } of entryPoints.values()) for (const id of Object.values(handlers)) visit(id)
  for (const id of hostModules(read, loaded, modules)) visit(id)
  return needed
}

/** Guards and policies: the host calls them itself. */
function hostModules(
  { definition }: DefinitionSource,
  loaded: ReadonlyMap<string, LoadedModule>,
  modules: readonly PlannedModule[],
): readonly string[] {
  const provided = modules.flatMap(({ id }) => {
    const module = loaded.get(id)?.module
    return module ? [{ id, module }] : []
  })
  return Object.values(findHostModules(definition, provided)).flat()
}

/** True for a module of which every call is on the tape. */
function isPlayed(module: Module | undefined): boolean {
  return module?.provides.every((protocol) => isBoundary({ protocol, isDeclared: module.boundary })) ?? false
}

/** A module of the same shape that does nothing: the player answers before it is called. */
function standInFor(module: Module): Module {
  const methods = module.provides.flatMap(({ methods }) => methods)
  const refuse = () => {
    throw new Error(`Module '${module.name}' is called in a replay.`)
  }
  // Not one of the protocol's methods: a provider may leave it out.
  const instance = Object.fromEntries([...methods, 'needsApproval'].map((method) => [method, refuse]))
  return Object.freeze({ ...module, config: Type.Object({}), create: () => instance })
}
