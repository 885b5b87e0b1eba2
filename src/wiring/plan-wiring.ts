import type { DefinitionSource, ExchangeEntry, ModuleEntry } from '../definition/definition.ts'
import { didYouMean } from '../definition/nearest-name.ts'
import { listNames, type Path, type Problem } from '../definition/problem.ts'
import { readDependency } from '../protocols/protocol.ts'
import { checkExchange } from './check-exchange.ts'
import {
  builtInProviderOf,
  type DescribedModule,
  ENTRY,
  type EntryPoint,
  type Field,
  HANDLERS,
  type Link,
  type ModuleSpec,
  type PlannedModule,
  type Planning,
  providedBy,
  type Report,
  STORAGE,
  type WiringPlan,
} from './wiring.ts'

/** The module of the library that an agent without a provider most likely wants. */
const COMMON_PROVIDERS: Readonly<Record<string, string>> = {
  LLM: 'llm/auto',
  TextMessageHandler: 'orchestrator/tool-loop',
  ToolProvider: 'tools/local',
  Memory: 'memory/vector-memory',
  VectorIndex: 'memory/exact-index',
  Embedder: 'embedder/local',
  Chunker: 'chunker/token',
}

/**
 * Finds a provider for every dependency: the one in `exchange`, otherwise the only possible one. Pure.
 *
 * @param facts by module id
 * @returns the plan, or every problem that keeps it from being made
 */
export function planWiring(
  source: DefinitionSource,
  facts: ReadonlyMap<string, ModuleSpec>,
): { plan: WiringPlan } | { problems: Problem[] } {
  const { definition } = source
  const problems: Problem[] = []
  const report: Report = (path, message, suggestions) => {
    problems.push(source.problemAt(path, `Agent '${definition.id}': ${message}`, suggestions))
  }
  const modules = definition.modules.map((entry, index) => describe(entry, index, facts, report))
  const context: Planning = { definition, modules, report }
  checkExchange(context)
  const planned = modules.map((module) => ({ id: module.id, scope: module.scope, links: planLinks(module, context) }))
  const entryPoints = planEntryPoints(context, planned)
  if (problems.length > 0) return { problems }
  checkScopes(planned, context)
  const ordered = orderModules(planned, context)
  return problems.length > 0 ? { problems } : { plan: { modules: ordered, entryPoints } }
}

function describe(
  entry: ModuleEntry,
  index: number,
  facts: ReadonlyMap<string, ModuleSpec>,
  report: Report,
): DescribedModule {
  const spec: ModuleSpec = facts.get(entry.id) ?? { provides: [], uses: {}, scope: 'instance' }
  const { provides, uses, scope } = spec
  const path = ['modules', index]
  const declared = provides.map(({ name }) => name)
  const fields = Object.entries(uses).map(([name, dependency]) => {
    const { protocol, arity } = readDependency(dependency)
    return { name, protocol: protocol.name, arity, methods: protocol.methods }
  })
  checkNarrowing(entry.provides, declared, [...path, 'provides'], `provide`, entry, report)
  checkNarrowing(
    entry.uses,
    fields.map(({ protocol }) => protocol),
    [...path, 'uses'],
    'use',
    entry,
    report,
  )
  return {
    id: entry.id,
    path,
    scope: entry.scope ?? scope,
    provides: new Set(providedBy(spec, entry)),
    fields: fields.filter((field) => keepField(field, entry, [...path, 'uses'], report)),
  }
}

function checkNarrowing(
  listed: readonly string[] | undefined,
  declared: readonly string[],
  path: Path,
  verb: string,
  { id, module }: ModuleEntry,
  report: Report,
): void {
  for (const name of listed ?? []) {
    if (declared.includes(name)) continue
    const known = declared.length > 0 ? `It ${verb}s ${listNames(declared)}.` : `It ${verb}s nothing.`
    report(path, `module '${id}' (${module}) does not ${verb} '${name}'.`, [...didYouMean(name, declared), known])
  }
}

function keepField({ name, protocol, arity }: Field, { id, uses }: ModuleEntry, path: Path, report: Report): boolean {
  if (!uses || uses.includes(protocol)) return true
  if (arity === 'one') {
    report(path, `module '${id}' cannot do without '${protocol}' (field '${name}').`, [`Add ${protocol} under uses.`])
  }
  return arity === 'many'
}

function planLinks(consumer: DescribedModule, context: Planning): Link[] {
  return consumer.fields.map((field) => {
    const { name, protocol, arity, methods } = field
    const written = findEntry(context.definition.exchange, consumer.id, protocol, name)
    const providers = written?.provider ?? inferProviders(consumer, field, context)
    return { field: name, protocol, arity, providers, methods }
  })
}

function findEntry(exchange: readonly ExchangeEntry[], module: string, protocol: string, field: string) {
  const entries = exchange.filter((entry) => entry.module === module && entry.protocol === protocol)
  return (
    entries.find(({ fieldName }) => fieldName === field) ?? entries.find(({ fieldName }) => fieldName === undefined)
  )
}

function inferProviders(consumer: DescribedModule, field: Field, { modules, report }: Planning): string[] {
  const { name, protocol, arity } = field
  const builtIn = builtInProviderOf(protocol)
  // A filter gets the provider of the run or the host; all other modules get the filter.
  if (builtIn && consumer.provides.has(protocol)) return [builtIn]
  const candidates = modules
    .filter(({ id, provides }) => id !== consumer.id && provides.has(protocol))
    .map(({ id }) => id)
  if (candidates.length === 0 && builtIn) return [builtIn]
  if (arity === 'many' || candidates.length === 1 || (arity === 'optional' && candidates.length === 0))
    return candidates
  const needs = `module '${consumer.id}' needs '${protocol}' (field '${name}')`
  if (candidates.length === 0) {
    report(consumer.path, `${needs}, and no module provides it.`, [addProvider(protocol)])
    return []
  }
  const [first = ''] = candidates
  const sameProtocol = consumer.fields.filter((other) => other.protocol === protocol).length > 1
  const pick = sameProtocol ? `, fieldName: ${name}` : ''
  const line = `{ module: ${consumer.id}, protocol: ${protocol}, provider: ${first}${pick} }`
  const count = candidates.length === 2 ? 'two modules provide' : `${candidates.length} modules provide`
  report(consumer.path, `${needs}, and ${count} it: ${listNames(candidates)}.`, [`Add under exchange: ${line}`])
  return []
}

function addProvider(protocol: string): string {
  const common = COMMON_PROVIDERS[protocol]
  return `Add a module that provides '${protocol}'${common === undefined ? '' : `, such as ${common}`}.`
}

function planEntryPoints(context: Planning, planned: readonly PlannedModule[]): ReadonlyMap<string, EntryPoint> {
  const { definition, modules } = context
  const written = definition.exchange.filter(({ module }) => module === ENTRY)
  const names = written.length > 0 ? written.flatMap(({ provider }) => provider) : inferEntry(context, planned)
  const entryPoints = new Map<string, EntryPoint>()
  const main: Record<string, string> = {}
  for (const protocol of HANDLERS) {
    const entries = written.filter((entry) => entry.protocol === protocol)
    const provider = entries[0]?.provider[0] ?? (written.length > 0 ? undefined : names[0])
    if (provider && modules.find(({ id }) => id === provider)?.provides.has(protocol)) main[protocol] = provider
  }
  entryPoints.set(ENTRY, { name: ENTRY, handlers: main })
  const distinct = [...new Set(names)]
  for (const name of distinct.length > 1 ? distinct : []) {
    const handled = HANDLERS.filter((protocol) => modules.find(({ id }) => id === name)?.provides.has(protocol))
    entryPoints.set(name, { name, handlers: Object.fromEntries(handled.map((protocol) => [protocol, name])) })
  }
  return entryPoints
}

function inferEntry({ modules, report }: Planning, planned: readonly PlannedModule[]): string[] {
  const handlers = modules.filter(({ provides }) => HANDLERS.some((protocol) => provides.has(protocol)))
  const ids = handlers.map(({ id }) => id)
  if (ids.length === 0) {
    report(['modules'], 'no module handles messages.', HANDLERS.slice(0, 1).map(addProvider))
  }
  if (ids.length > 1) {
    const used = new Set(planned.flatMap(({ links }) => links.flatMap(({ providers }) => providers)))
    // One that others use is a part of their answers.
    const likely = handlers.find(({ id }) => !used.has(id)) ?? handlers[0]
    const protocol = HANDLERS.find((name) => likely?.provides.has(name))
    const line = `{ module: ${ENTRY}, protocol: ${protocol}, provider: ${likely?.id} }`
    const message = `it is not clear which module answers: ${listNames(ids)} handle messages.`
    report(['modules'], message, [`Add under exchange: ${line}`])
  }
  return ids
}

function checkScopes(planned: readonly PlannedModule[], { modules, report }: Planning): void {
  const scopes = new Map(planned.map(({ id, scope }) => [id, scope]))
  for (const { id, scope, links } of planned) {
    if (scope !== 'agent') continue
    const path = modules.find((module) => module.id === id)?.path ?? []
    const told = new Set<string>()
    for (const { providers, protocol } of links) {
      for (const provider of providers.filter((name) => name !== STORAGE && scopes.get(name) !== 'agent')) {
        const what = scopes.has(provider) ? `'${provider}', which is made for each run` : `'${protocol}' from the run`
        const message = `module '${id}' has the scope 'agent' and uses ${what}.`
        if (told.has(message)) continue
        told.add(message)
        const shared = scopes.has(provider) ? [`Give '${provider}' the scope 'agent'.`] : []
        report(path, message, [`Give '${id}' the scope 'instance'.`, ...shared])
      }
    }
  }
}

/** Depth first, so that each module comes after its dependencies, and otherwise in the order of the file. */
function orderModules(planned: readonly PlannedModule[], { modules, report }: Planning): PlannedModule[] {
  const byId = new Map(planned.map((module) => [module.id, module]))
  const ordered = new Set<PlannedModule>()
  const visit = (module: PlannedModule, trail: readonly string[]): void => {
    if (ordered.has(module)) return
    if (trail.includes(module.id)) {
      const circle = [...trail.slice(trail.indexOf(module.id)), module.id].join(' -> ')
      const path = modules.find(({ id }) => id === module.id)?.path ?? []
      report(path, `modules depend on each other in a circle: ${circle}.`, ['Give one of them another provider.'])
      ordered.add(module)
      return
    }
    for (const id of module.links.flatMap(({ providers }) => providers)) {
      const provider = byId.get(id)
      if (provider) visit(provider, [...trail, module.id])
    }
    ordered.add(module)
  }
  for (const module of planned) visit(module, [])
  return [...ordered]
}
