import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { deepFreeze } from '../definition/deep-freeze.ts'
import {
  type DefinitionSource,
  MAX_PROBLEMS,
  type ModuleEntry,
  type ProblemAt,
  readDefinition,
} from '../definition/definition.ts'
import { type Environment, interpolate } from '../definition/interpolate.ts'
import { AgentError, type Path, type Position, type Problem } from '../definition/problem.ts'
import { findValueProblems } from '../definition/schema-problems.ts'
import { HostError, messageOf } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import { isModule, type Module, type ModuleContext } from '../module/define-module.ts'
import { findProjectFile } from '../module/find-project-file.ts'
import { type LoadedModule, type ModuleLoader, wrapModule } from '../module/load-module.ts'
import type { ProjectCode } from '../module/project-code.ts'
import { type CallableAgent, isCalled } from '../protocols/callable-agent.ts'
import { type Log, makeLog } from '../protocols/log.ts'
import type { Protocol } from '../protocols/protocol.ts'
import type { Run } from '../protocols/run.ts'
import type { Sealing } from '../protocols/sealing.ts'
import type { StorageSource } from '../protocols/storage.ts'
import { findClientFault } from './client-schema.ts'
import { inlineFiles } from './inline-files.ts'
import { findNamedKeys, type NamedKey } from './named-keys.ts'
import { planWiring } from './plan-wiring.ts'
import { readTriggerSecrets } from './read-trigger-secrets.ts'
import { type EntryPoint, type PlannedModule, providersIn, type WiredModule } from './wiring.ts'

/** Path of the page to which other sites send people back. */
export const CALLBACK_PATH = '/oauth/callback'

/** Parts of a project that its agents share. */
export interface Project {
  /** Absolute. */
  readonly dir: string
  readonly environment: Environment
  readonly loader: ModuleLoader
  readonly code: ProjectCode
  readonly log: Log
  readonly storage: StorageSource
  readonly sealing: Sealing
  /** Without a slash at the end. */
  readonly publicUrl: string
  /** Lists the agents in service; absent where there are no others. */
  readonly listAgents?: () => readonly CallableAgent[]
  /** Things outside that modules wait for, by the module that reports them. */
  readonly missing?: Map<object, string>
}

/** An agent that is checked, loaded and wired: everything that can be decided before a request comes. */
export interface AgentBlueprint {
  readonly source: DefinitionSource
  /** In the order in which they can be made. */
  readonly modules: readonly WiredModule[]
  readonly loaded: ReadonlyMap<string, LoadedModule>
  readonly entryPoints: ReadonlyMap<string, EntryPoint>
  /** Project files of the agent (absolute paths). Modules add to them when they are created. */
  readonly files: Set<string>
  /** Agents that it calls, by their names and globs. Modules add to them when they are created. */
  readonly calls: Map<string, CalledName>
  /** Secrets of its triggers, by their ids. */
  readonly triggerSecrets: ReadonlyMap<string, string>
  /** Keys that its triggers and schedules name. */
  readonly namedKeys: readonly NamedKey[]
}

/** Place at which an agent names another that it calls. */
export interface CalledName extends Partial<Position> {
  readonly file?: string
  /** Id of the module that calls it. */
  readonly module: string
  /** `module 'team' (tools/agents)` */
  readonly caller: string
}

/**
 * Checks a definition, loads its modules and wires them: the result can be opened.
 *
 * @param source the text of an agent file, an object of the same shape, or a definition that was read before. In an object
 *   `module` may also be a module itself.
 * @throws AgentError `AGENT_INVALID` with every problem that was found
 */
export async function planAgent(source: unknown, file: string | undefined, project: Project): Promise<AgentBlueprint> {
  const { plain, given } = takeModules(source)
  const written = readDefinition(plain, file)
  const files = new Set<string>()
  const problems: Problem[] = []
  const loaded = await loadModules(written, project, given, files, problems)
  const read = await inlineFiles(written, { dir: project.dir, loaded, files, problems })
  const { output } = read.definition.toolMetadata
  const fault = output && (await findClientFault(output))
  if (fault !== undefined) {
    const message = `output is no JSON Schema that clients of MCP can use: ${fault}.`
    problems.push(read.problemAt(['output'], message, ['Without output the answer of the agent is text.']))
  }
  if (read.definition.schedules) {
    const { findScheduleProblems } = await import('./check-schedules.ts')
    problems.push(...(await findScheduleProblems(read)))
  }
  return planLoaded({ read, loaded, files }, project, problems)
}

/** Definition with the modules that it names, as far as they could be loaded. */
export interface LoadedDefinition extends Pick<AgentBlueprint, 'loaded' | 'files'> {
  readonly read: DefinitionSource
}

/**
 * Checks the configs of loaded modules and wires them.
 *
 * @param problems found so far
 * @throws AgentError as {@link planAgent}
 */
export function planLoaded(
  { read, loaded, files }: LoadedDefinition,
  project: Project,
  problems: Problem[] = [],
): AgentBlueprint {
  const { definition } = read
  const configs = definition.modules.map((entry, index) => {
    const module = loaded.get(entry.id)
    return module ? prepareConfig(read, entry, index, module, project, problems) : {}
  })
  const triggerSecrets = readTriggerSecrets(read, project.environment, problems)
  if (loaded.size < definition.modules.length) throw new AgentError('AGENT_INVALID', problems, { files })
  const calls = new Map<string, CalledName>()
  const facts = new Map([...loaded].map(([id, { module }]) => [id, module]))
  const wiring = planWiring(read, facts)
  if ('problems' in wiring) problems.push(...wiring.problems)
  if (problems.length > 0 || 'problems' in wiring) throw new AgentError('AGENT_INVALID', problems, { files })
  const modules = wiring.plan.modules.map((planned): WiredModule => {
    const index = definition.modules.findIndex(({ id }) => id === planned.id)
    const { module, reference } = loaded.get(planned.id) as LoadedModule
    const context = makeContext(read, planned, loaded, project, { files, calls })
    const storage = project.storage.storageOf({ agentId: definition.id, moduleId: planned.id })
    return Object.freeze({ ...planned, module, reference, config: configs[index] ?? {}, context, storage })
  })
  const { entryPoints } = wiring.plan
  return { source: read, modules, loaded, entryPoints, files, calls, triggerSecrets, namedKeys: findNamedKeys(read) }
}

/** Separates modules passed as objects from the plain data around them, which refers to them by name. */
function takeModules(source: unknown): { plain: unknown; given: ReadonlyMap<number, Module> } {
  const given = new Map<number, Module>()
  const { modules: entries } = fieldsOf(source)
  if (!Array.isArray(entries)) return { plain: source, given }
  const modules = entries.map((entry: { module?: unknown } | null, index) => {
    const module = entry?.module
    if (!isModule(module)) return entry
    given.set(index, module)
    return { ...entry, module: module.name }
  })
  return { plain: given.size > 0 ? { ...fieldsOf(source), modules } : source, given }
}

async function loadModules(
  { definition, problemAt }: DefinitionSource,
  { loader }: Project,
  given: ReadonlyMap<number, Module>,
  files: Set<string>,
  problems: Problem[],
): Promise<ReadonlyMap<string, LoadedModule>> {
  const loaded = new Map<string, LoadedModule>()
  const load = async ({ module }: ModuleEntry, index: number) => {
    const object = given.get(index)
    return object ? wrapModule(object) : loader.load(module)
  }
  const results = await Promise.allSettled(definition.modules.map(load))
  results.forEach((result, index) => {
    const { id, module } = definition.modules[index] as ModuleEntry
    if (!given.has(index)) for (const file of loader.candidates(module)) files.add(file)
    if (result.status === 'fulfilled') {
      loaded.set(id, result.value)
      for (const file of result.value.files) files.add(file)
    } else {
      problems.push(toProblem(problemAt, ['modules', index, 'module'], `module '${id}'`, result.reason))
    }
  })
  return loaded
}

/** A problem in the agent's file that reports an error from elsewhere. */
export function toProblem(problemAt: ProblemAt, path: Path, subject: string, failure: unknown): Problem {
  const suggestions = failure instanceof HostError ? failure.suggestions : []
  return problemAt(path, `${subject}: ${messageOf(failure)}`, suggestions)
}

/** Variables filled in, defaults added, checked against the module's schema, frozen. @param problems gets those that it has */
export function prepareConfig(
  { problemAt }: DefinitionSource,
  entry: ModuleEntry,
  index: number,
  { module, validator }: LoadedModule,
  { environment }: Project,
  problems: Problem[],
): Readonly<Record<string, unknown>> {
  const schema: TSchema = module.config
  const { value: filled, problems: missing } = interpolate(entry.config, schema, environment)
  const value = Value.Default(schema, filled) as Record<string, unknown>
  const found = missing.length > 0 ? missing : findValueProblems(schema, validator, value)
  const omitted = found.length - MAX_PROBLEMS
  const more = { path: [], message: `Further problems: ${omitted}.`, suggestions: [] }
  for (const { path, message, suggestions } of [...found.slice(0, MAX_PROBLEMS), ...(omitted > 0 ? [more] : [])]) {
    const text = `module '${entry.id}' (${entry.module}), config: ${message}`
    problems.push(problemAt(['modules', index, 'config', ...path], text, suggestions))
  }
  return deepFreeze(value)
}

function makeContext(
  source: DefinitionSource,
  { id: moduleId, links }: PlannedModule,
  loaded: ReadonlyMap<string, LoadedModule>,
  project: Project,
  { files, calls }: Pick<AgentBlueprint, 'files' | 'calls'>,
): ModuleContext {
  const { id: agentId, modules } = source.definition
  const { dir, code, environment, storage, sealing, publicUrl } = project
  const boundTo = (run: Run | undefined) => [run?.tenant ?? '', agentId, moduleId]
  const name = (message: string) => `${agentId}/${moduleId}: ${message}`
  return Object.freeze({
    agentId,
    moduleId,
    projectDir: dir,
    hasSharedStore: storage.isShared,
    environment,
    callbackUrl: `${publicUrl}${CALLBACK_PATH}`,
    seal: (text: string, run?: Run) => sealing.seal(text, boundTo(run)),
    unseal: (sealed: string, run?: Run) => sealing.unseal(sealed, boundTo(run)),
    log: makeLog((level, message) => project.log[level](name(message))),
    reportMissing: makeReport(project, name),
    providersOf: ({ name }: Protocol) => providersIn(modules, loaded, name),
    providersFor: (field: string) => links.find((link) => link.field === field)?.providers ?? [],
    callsAgents(names: readonly string[]) {
      for (const name of names) calls.set(name, placeOfCall(source, moduleId, name))
      return agentsNamed(names, agentId, project)
    },
    async importFile(path: string) {
      const file = findProjectFile(dir, path)
      files.add(file)
      const loaded = await code.load(file)
      for (const file of loaded.files) files.add(file)
      return loaded.exports
    },
    watchFile(path: string) {
      files.add(findProjectFile(dir, path))
    },
  })
}

/** Each module keeps one report: the latest. */
function makeReport({ missing }: Project, name: (message: string) => string): ModuleContext['reportMissing'] {
  const reporter = {}
  return (what) => {
    if (what === undefined) missing?.delete(reporter)
    else missing?.set(reporter, name(what))
  }
}

/** Place at which a module's config names an agent. */
function placeOfCall({ definition, problemAt }: DefinitionSource, moduleId: string, name: string): CalledName {
  const index = definition.modules.findIndex(({ id }) => id === moduleId)
  const { config, module } = definition.modules[index] as ModuleEntry
  const path = ['modules', index, 'config', ...(findPath(config, name) ?? [])]
  const { message: caller, suggestions: _, ...place } = problemAt(path, `module '${moduleId}' (${module})`)
  return { ...place, module: moduleId, caller }
}

/** @returns lists the agents in service that these names and globs call, without the caller itself */
function agentsNamed(
  names: readonly string[],
  agentId: string,
  { listAgents = () => [] }: Project,
): () => readonly CallableAgent[] {
  let all: readonly CallableAgent[] | undefined
  let found: readonly CallableAgent[] = []
  return () => {
    const latest = listAgents()
    if (latest !== all) found = latest.filter((agent) => !isOf(agentId, agent) && isCalled(agent, names))
    all = latest
    return found
  }
}

/** Path of the first place of a value where this text stands. */
function findPath(value: unknown, text: string): Path | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(key) : key
    if (inner === text) return [step]
    const rest = findPath(inner, text)
    if (rest) return [step, ...rest]
  }
  return undefined
}

function isOf(agentId: string, { name }: CallableAgent): boolean {
  return name === agentId || name.startsWith(`${agentId}/`)
}
