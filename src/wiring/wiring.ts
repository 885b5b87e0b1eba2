import type { AgentDefinition, ModuleEntry } from '../definition/definition.ts'
import type { Path } from '../definition/problem.ts'
import type { Scope } from '../definition/scope.ts'
import type { Module, ModuleContext } from '../module/define-module.ts'
import type { Storage } from '../protocols/storage.ts'

export const ENTRY = '__entry__'

/** Providers of the run itself, for modules that have no other provider in the agent: pseudo module id by protocol. */
export const RUN_PROVIDERS = Object.freeze({ Response: '__response__', ConversationHistory: '__conversation__' })

/** Provider of the host, for modules of either scope. */
export const STORAGE = '__storage__'

const BUILT_IN_PROVIDERS: Readonly<Record<string, string>> = Object.freeze({ ...RUN_PROVIDERS, Storage: STORAGE })

/** The protocols that an entry point may handle. */
export const HANDLERS = ['TextMessageHandler', 'ImageMessageHandler', 'AudioMessageHandler', 'VideoMessageHandler']

/** A dependency of a module with its providers: module ids, one of {@link RUN_PROVIDERS}, or {@link STORAGE}. */
export interface Link {
  readonly field: string
  readonly protocol: string
  readonly arity: 'one' | 'many' | 'optional'
  readonly providers: readonly string[]
  /** Of the protocol, as the module that depends on it knows it. */
  readonly methods: readonly string[]
}

export interface PlannedModule {
  readonly id: string
  readonly scope: Scope
  readonly links: readonly Link[]
}

/** A planned module with everything an instance is created from. Frozen. */
export interface WiredModule extends PlannedModule {
  readonly reference: string
  readonly module: Module
  readonly config: Readonly<Record<string, unknown>>
  readonly context: ModuleContext
  /** Records of its own. */
  readonly storage: Storage
}

/** A way into an agent: for each message handler protocol, the module that handles it. */
export interface EntryPoint {
  readonly name: string
  readonly handlers: Readonly<Record<string, string>>
}

/** @throws Error for a name that is not among them */
export function entryPointOf(entryPoints: WiringPlan['entryPoints'], name: string): EntryPoint {
  const entryPoint = entryPoints.get(name)
  if (!entryPoint) throw new Error(`The plan has no entry point '${name}'.`)
  return entryPoint
}

/** Wiring of an agent's modules. */
export interface WiringPlan {
  /** Every module, each after those that it depends on. */
  readonly modules: readonly PlannedModule[]
  /** By name; `__entry__` first. Modules that can be named stand beside it only when there are several. */
  readonly entryPoints: ReadonlyMap<string, EntryPoint>
}

/** Part of a module that the plan needs. */
export type ModuleSpec = Pick<Module, 'provides' | 'uses' | 'scope'>

/** Takes a problem down, with its place in the definition. */
export type Report = (path: Path, message: string, suggestions: readonly string[]) => void

/** A dependency of a module, as it declares it. */
export interface Field {
  readonly name: string
  readonly protocol: string
  readonly arity: Link['arity']
  readonly methods: readonly string[]
}

/** A module with its provided and used protocols in this agent. */
export interface DescribedModule {
  readonly id: string
  readonly path: Path
  readonly scope: Scope
  readonly provides: ReadonlySet<string>
  readonly fields: readonly Field[]
}

/** State shared by all steps of the planning. */
export interface Planning {
  readonly definition: AgentDefinition
  readonly modules: readonly DescribedModule[]
  readonly report: Report
}

/** Names of the protocols that a module provides in an agent: those that its entry names, or all. */
export function providedBy({ provides }: Pick<Module, 'provides'>, entry: Pick<ModuleEntry, 'provides'>): string[] {
  return provides.map(({ name }) => name).filter((name) => entry.provides?.includes(name) ?? true)
}

/** Ids of the modules that provide a protocol, in the order of the agent's file. */
export function providersIn(
  entries: readonly ModuleEntry[],
  modules: ReadonlyMap<string, { readonly module: Pick<Module, 'provides'> }>,
  protocol: string,
): string[] {
  const isProvider = (entry: ModuleEntry) => {
    const { module } = modules.get(entry.id) ?? {}
    return module !== undefined && providedBy(module, entry).includes(protocol)
  }
  return entries.filter(isProvider).map(({ id }) => id)
}

/** Returns the provider of a protocol that the run or the host brings, if there is one. */
export function builtInProviderOf(protocol: string): string | undefined {
  return Object.hasOwn(BUILT_IN_PROVIDERS, protocol) ? BUILT_IN_PROVIDERS[protocol] : undefined
}
