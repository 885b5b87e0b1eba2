import { deepFreeze } from '../definition/deep-freeze.ts'
import { type AgentDefinition, DefinitionSource, type ModuleEntry, type ProblemAt } from '../definition/definition.ts'
import { referencesIn } from '../definition/interpolate.ts'
import { didYouMean } from '../definition/nearest-name.ts'
import { AgentError, type Path, type Problem } from '../definition/problem.ts'
import type { LoadedModule } from '../module/load-module.ts'
import { REDACTED } from '../redaction/redacted.ts'
import { formatPath } from '../wire/format-path.ts'
import type { VariantChange } from '../wire/variant.ts'
import { type AgentBlueprint, type Project, planLoaded } from '../wiring/plan-agent.ts'
import { getAt, isVariable, listVariables } from '../wiring/variables.ts'
import { ownChanges } from './called-changes.ts'

/** Agent that a variant differs from: its definition and its loaded modules. No code is loaded for a variant. */
export interface VariedAgent extends Pick<AgentBlueprint, 'loaded'> {
  readonly definition: AgentDefinition
  readonly file: string | undefined
  readonly files: Iterable<string>
}

/** Problem of a variant, with the value that it is about. */
export interface VariantProblem extends Problem {
  /** Called agent that it is one of. */
  readonly agent?: string
  readonly module?: string
  readonly path?: Path
}

/**
 * Plans an agent with some values of its configs changed. Everything else is as in its definition: modules, wiring, files, commands,
 * addresses, headers. Values of the agents that it calls are left to these.
 *
 * @throws AgentError `AGENT_INVALID` with every change that is refused; otherwise as a file would be, with the place of each value
 *   ({@link VariantProblem})
 */
export function planVariant(agent: VariedAgent, all: readonly VariantChange[], project: Project): AgentBlueprint {
  const { loaded, files } = agent
  return planLoaded({ read: readVariant(agent, all), loaded, files: new Set(files) }, project)
}

/**
 * Returns the definition of a variant. Schemas, variables and wiring are left to its plan.
 *
 * @throws AgentError `AGENT_INVALID` with every change that no variant may have
 */
export function readVariant(
  { definition, loaded, file }: Omit<VariedAgent, 'files'>,
  all: readonly VariantChange[],
): DefinitionSource {
  const changes = ownChanges(all)
  const { modules } = definition
  const problemAt: ProblemAt = (path, message, suggestions = []) => ({
    message,
    suggestions,
    ...placeOf(path, modules),
  })
  const problems = changes.flatMap((change) => findProblem(change, definition, loaded, problemAt) ?? [])
  if (problems.length > 0) throw new AgentError('AGENT_INVALID', problems)
  const varied = modules.map((entry) => {
    const own = changes.filter(({ module }) => module === entry.id)
    return { ...entry, config: own.reduce((config, { path, value }) => set(config, path, value), entry.config) }
  })
  return new DefinitionSource(deepFreeze({ ...definition, modules: varied as ModuleEntry[] }), file, problemAt)
}

function placeOf([root, index, key, ...path]: Path, modules: readonly ModuleEntry[]): Partial<VariantProblem> {
  const id = root === 'modules' ? modules[Number(index)]?.id : undefined
  return id === undefined ? {} : { module: id, ...(key === 'config' && path.length > 0 ? { path } : {}) }
}

function findProblem(
  { module: id, path, value }: VariantChange,
  { modules }: AgentDefinition,
  loaded: ReadonlyMap<string, LoadedModule>,
  problemAt: ProblemAt,
): Problem | undefined {
  const index = modules.findIndex((entry) => entry.id === id)
  const [entry, from] = [modules[index], loaded.get(id)]
  if (!entry || !from) {
    const names = modules.map((entry) => entry.id)
    const near = didYouMean(id, names)
    return problemAt(
      ['modules'],
      `There is no module '${id}'.`,
      near.length > 0 ? near : [`Modules: ${names.join(', ')}`],
    )
  }
  const refuse = (at: Path, reason: string, ...suggestions: readonly string[]) =>
    problemAt(
      ['modules', index, 'config', ...at],
      `module '${id}' (${entry.module}), config: ${formatPath(at)} ${reason}`,
      suggestions,
    )
  const isTrap = path.some((key) => TRAPS.has(String(key)))
  if (isTrap || !isVariable(from.module, path))
    return refuse(path, 'may not be changed by a variant.', ...whatMay(path, entry, from))
  if (!hasPlace(entry.config, path)) return refuse(path, 'has no place in the list.', 'Edit the file.')
  for (const { at, text } of textsIn(value, path)) {
    const found = findBadText(text, at, getAt(entry.config, at))
    if (found) return refuse(at, found.reason, found.suggestion)
  }
  const trap = findTrap(value, path)
  return trap && refuse(trap, 'is no name of a field.', 'Leave it out.')
}

function whatMay(refused: Path, { config }: ModuleEntry, { module }: LoadedModule): string[] {
  const names = listVariables(module, config).map(({ path }) => formatPath(path))
  if (names.length === 0) return ['This module has no value that may. Edit the file.']
  return [...didYouMean(formatPath(refused), names), `These may: ${names.join(', ')}. For all others edit the file.`]
}

/** Names of models, with folders, versions and regions; neither addresses nor ways to other folders. */
const MODEL = /^[A-Za-z0-9](?:[\w.:/@+ -]*[\w])?$/
const MAX_MODEL_LENGTH = 300

function findBadText(text: string, at: Path, before: unknown) {
  const known = typeof before === 'string' ? referencesIn(before) : []
  const added = referencesIn(text).find((reference) => !known.includes(reference))
  if (added !== undefined) {
    return {
      reason: `has '${added}', which this value does not have in the file.`,
      suggestion: 'Write $${ for the two characters.',
    }
  }
  if (text.includes(REDACTED)) {
    return { reason: `holds '${REDACTED}', which stands for a secret.`, suggestion: 'Edit the file.' }
  }
  const isModel = at.at(-1) === 'model' && text !== before && referencesIn(text).length === 0
  if (isModel && (text.length > MAX_MODEL_LENGTH || !MODEL.test(text) || /\.\.|\/\//.test(text))) {
    return {
      reason: `must be the name of a model, not '${text.slice(0, 100)}'.`,
      suggestion: 'Write it as the vendor does.',
    }
  }
  return undefined
}

/** Path of a key in a value that means something else than a field. */
function findTrap(value: unknown, path: Path): Path | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, child] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (TRAPS.has(key)) return at
    const inner = findTrap(child, at)
    if (inner) return inner
  }
  return undefined
}

const TRAPS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

function* textsIn(value: unknown, at: Path): Generator<{ at: Path; text: string }> {
  if (typeof value === 'string') yield { at, text: value }
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value))
    yield* textsIn(child, [...at, Array.isArray(value) ? Number(key) : key])
}

/** Items of lists are changed, not added: an index has its item. */
function hasPlace(config: unknown, path: Path): boolean {
  return path.every((key, depth) => typeof key === 'string' || getAt(config, path.slice(0, depth + 1)) !== undefined)
}

/** Copies a config up to a value, which is put in or, where undefined, taken out. */
function set<T>(target: T, [key, ...rest]: Path, value: unknown): T {
  if (key === undefined) return value as T
  const child = set(getAt(target, [key]), rest, value)
  if (Array.isArray(target)) return target.map((item, index) => (index === key ? child : item)) as T
  // At its place: the version of an agent depends on the order.
  const fields = new Map<unknown, unknown>(Object.entries(target ?? {}))
  if (child === undefined) fields.delete(key)
  else fields.set(key, child)
  return Object.fromEntries(fields as Map<string, unknown>) as T
}
