import { relative } from 'node:path'
import { type Static, Type } from 'typebox'
import { didYouMean } from '../../definition/nearest-name.ts'
import { formatProblem, type Path, type Problem } from '../../definition/problem.ts'
import type { ValueProblem } from '../../definition/schema-problems.ts'
import { readSettings, readSettingsText } from '../../definition/settings-file.ts'
import { badOption } from '../../errors.ts'
import { getOrAdd } from '../../get-or-add.ts'
import { isCalled } from '../../protocols/callable-agent.ts'
import type { Limits } from '../../run/state/run-quota.ts'
import type { Key } from './key.ts'
import { KEY_SCOPES, type KeyScope, makePrincipal, Name } from './principal.ts'

/** A day, which begins in UTC, or a moment with its offset (RFC 3339). */
const EXPIRES = '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:\\d\\d))?$'

const Amount = Type.Integer({ minimum: 1 })
const LimitsOfHolder = Type.Object({
  requests_per_minute: Type.Optional(Amount),
  concurrent_runs: Type.Optional(Amount),
  tokens_per_day: Type.Optional(Amount),
  cost_per_day: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
})

/** Names of the limits of a key or a tenant. */
export const LIMIT_NAMES: readonly string[] = Object.keys(LimitsOfHolder.properties)

const KeyEntry = Type.Object({
  name: Name,
  tenant: Type.Optional(Name),
  digest: Type.String({ pattern: '^sha256:[0-9a-fA-F]{64}$' }),
  scopes: Type.Array(Type.Unsafe<KeyScope>(Type.Union(KEY_SCOPES.map((scope) => Type.Literal(scope)))), {
    minItems: 1,
  }),
  adapters: Type.Optional(Type.Array(Name, { minItems: 1 })),
  agents: Type.Optional(Type.Array(Type.String({ pattern: '^[\\w.*-]{1,128}$' }), { minItems: 1 })),
  expires: Type.Optional(Type.String({ pattern: EXPIRES })),
  limits: Type.Optional(LimitsOfHolder),
})

const KeysFile = Type.Object({
  keys: Type.Array(KeyEntry, { minItems: 1 }),
  tenants: Type.Optional(Type.Array(Type.Object({ name: Name, limits: LimitsOfHolder }))),
})

/** One key of the file, as it stands there. */
export type KeyEntry = Static<typeof KeyEntry>

/** Entry that is no error, and hardly meant: it becomes so, or stops, with time and with the agents that there are. */
interface Doubt {
  /** @returns advice while it is so; undefined while it is not */
  readonly find: (agents: readonly string[]) => readonly string[] | undefined
  readonly problem: Problem
}

/** A file of keys, as it was read. */
export interface ReadKeys<K> {
  readonly keys: readonly K[]
  /** Limits of tenants, by their names. */
  readonly tenants: ReadonlyMap<string, Limits>
  readonly doubts: readonly Doubt[]
}

/** For about 100,000 keys. */
const MAX_BYTES = 16 * 1024 * 1024
const NAME_RULE = "It has letters, digits, '.', '_', '@' and '-', 64 at most."

/** Advice for a field that is wrong. */
const ADVICE: Readonly<Record<string, string>> = {
  keys: 'The file lists keys: { name, tenant, digest, scopes, adapters, agents, expires, limits }.',
  name: NAME_RULE,
  tenant: NAME_RULE,
  digest: 'Write sha256: and what this prints: printf %s "$KEY" | sha256sum',
  agents: "List ids of agents, in which * stands for any characters: [support, 'sales-*'].",
  adapters: 'List names of adapters, as --adapter has them: [ChatCompatApiAdapter].',
  expires: 'Write a day, which begins in UTC, or a moment: 2027-01-31, 2027-01-31T18:00:00+01:00.',
  limits: `The limits: ${LIMIT_NAMES.join(', ')} (US dollars).`,
  tenants: 'List tenants with their limits: [{ name: acme, limits: { requests_per_minute: 600 } }].',
  scopes: `List some of ${KEY_SCOPES.join(', ')}.`,
}

const RULES = { kind: 'a file of keys', maxBytes: MAX_BYTES, schema: KeysFile, findMistakes, adviseOn }

/**
 * Reads the file of keys.
 *
 * @param path absolute
 * @throws HostError `OPTION_INVALID` that names the file, and the line of everything that is wrong
 */
export async function readKeysFile(path: string, projectDir: string): Promise<ReadKeys<Key>> {
  const file = relative(projectDir, path) || path
  const suggestions = ['Name the file of keys with --keys.']
  const text = await readSettingsText(path, file, suggestions)
  if (text === undefined) throw badOption(`There is no file of keys ${file}.`, { suggestions })
  const { keys, ...others } = parseKeys(text, file)
  return { keys: keys.map(toKey), ...others }
}

/**
 * Reads the text of a file of keys.
 *
 * @param file its name in messages
 * @throws as {@link readKeysFile}
 */
export function parseKeys(text: string, file: string): ReadKeys<KeyEntry> {
  const { value, locate } = readSettings(text, { ...RULES, file })
  const { keys, tenants = [] } = value
  const doubt = (path: Path, message: string, find: Doubt['find']): Doubt => {
    return { find, problem: { file, ...locate(path), message, suggestions: [] } }
  }
  // One for all keys with the same glob: agents are many.
  const finds = new Map<string, Doubt['find']>()
  const findNone =
    (glob: string): Doubt['find'] =>
    (ids) =>
      ids.some((id) => isCalled({ name: id }, [glob])) ? undefined : didYouMean(glob.replaceAll('*', ''), ids)
  const doubts = keys.flatMap(({ name, agents = [], expires }, index) => [
    ...agents.map((glob, place) =>
      doubt(
        ['keys', index, 'agents', place],
        `The key of '${name}' is for '${glob}', which matches no agent.`,
        getOrAdd(finds, glob, () => findNone(glob)),
      ),
    ),
    ...(expires === undefined
      ? []
      : [doubt(['keys', index, 'expires'], `The key of '${name}' has expired.`, () => adviseOnEnd(expires))]),
  ])
  return { keys, tenants: new Map(tenants.map(({ name, limits }) => [name, limits])), doubts }
}

function adviseOnEnd(expires: string): string[] | undefined {
  return Date.parse(expires) <= Date.now() ? ['Write a later day, or take the line out.'] : undefined
}

/**
 * Describes what is so of these doubts, each with its line.
 *
 * @param agents ids of all that there are
 */
export function describeDoubts(doubts: readonly Doubt[], agents: readonly string[]): string[] {
  const found = new Map<Doubt['find'], readonly string[] | null>()
  return doubts.flatMap(({ find, problem }) => {
    const advice = getOrAdd(found, find, () => find(agents) ?? null)
    return advice ? [[formatProblem(problem), ...advice].join(' ')] : []
  })
}

function adviseOn(path: Path): string[] {
  const names = path.filter((key) => typeof key === 'string')
  const field = names.findLast((name) => ADVICE[name] !== undefined) ?? 'keys'
  return [ADVICE[field]].filter((advice) => advice !== undefined)
}

function findMistakes({ keys, tenants = [] }: Static<typeof KeysFile>): ValueProblem[] {
  return [
    ...findRepeated(keys, ({ digest }) => digest.toLowerCase(), describeSameDigest),
    ...findRepeated(keys, ({ name }) => name, describeOtherHolder),
    ...keys.flatMap(findNoTime),
    ...findRepeated(tenants, ({ name }) => name, describeSameTenant),
  ]
}

/** @param describe returns undefined where two may have the same */
function findRepeated<T>(
  entries: readonly T[],
  factOf: (entry: T) => string,
  describe: (entry: T, first: T, index: number) => ValueProblem | undefined,
): ValueProblem[] {
  const firsts = new Map<string, T>()
  return entries.flatMap((entry, index) => {
    const first = getOrAdd(firsts, factOf(entry), () => entry)
    return (first !== entry && describe(entry, first, index)) || []
  })
}

function describeSameDigest({ name }: KeyEntry, first: KeyEntry, index: number): ValueProblem {
  const message = `The key of '${name}' is also that of '${first.name}'.`
  return { path: ['keys', index, 'digest'], message, suggestions: ['Make a key of its own: openssl rand -hex 32'] }
}

/** Two keys of one name are one holder, whose key is being replaced: they may not differ in what they open. */
function describeOtherHolder(entry: KeyEntry, first: KeyEntry, index: number): ValueProblem | undefined {
  if (rightsOf(entry) === rightsOf(first)) return undefined
  const message = `Another key of '${entry.name}' has another tenant, or other scopes, agents or limits.`
  const suggestions = ['Give it a name of its own, or the same tenant, scopes, agents and limits.']
  return { path: ['keys', index, 'name'], message, suggestions }
}

function rightsOf({ tenant = '', scopes, agents = [], limits = {} }: KeyEntry): string {
  return JSON.stringify([tenant, [...scopes].sort(), [...agents].sort(), Object.entries(limits).sort()])
}

function findNoTime({ expires }: KeyEntry, index: number): ValueProblem[] {
  if (expires === undefined || isTime(expires)) return []
  return [{ path: ['keys', index, 'expires'], message: `There is no such time: '${expires}'.`, suggestions: [] }]
}

/** The engine takes the 31st of any month for a day, often of the next one. */
function isTime(expires: string): boolean {
  const day = new Date(expires.slice(0, 10))
  return !Number.isNaN(Date.parse(expires)) && day.toISOString().startsWith(expires.slice(0, 10))
}

function describeSameTenant({ name }: { readonly name: string }, _first: object, index: number): ValueProblem {
  const message = `The tenant '${name}' stands here a second time.`
  return { path: ['tenants', index, 'name'], message, suggestions: ['Give each tenant one entry.'] }
}

function toKey({ name, tenant, digest, scopes, adapters, agents, expires, limits }: KeyEntry): Key {
  const principal = makePrincipal({ name, tenant, scopes, agents, limits })
  const expiresAt = expires === undefined ? undefined : Date.parse(expires)
  return { digest: digest.slice('sha256:'.length).toLowerCase(), principal, adapters, expiresAt }
}
