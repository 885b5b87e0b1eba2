import { isDeepStrictEqual } from 'node:util'
import { toSortedJson } from '../../json.ts'
import { STORAGE } from '../../wiring/wiring.ts'
import type { TapedCall, TapedRun } from '../file/read-tape.ts'
import type { CallLine } from '../file/tape-lines.ts'
import type { JsonValue } from '../file/tape-values.ts'
import { describeDifferences } from './describe-differences.ts'

/** Call that a replay makes. */
export type AskedCall = Pick<CallLine, 'module' | 'caller' | 'protocol' | 'method' | 'arguments'>

/** Ids that runs make of themselves. */
const IDS = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi

/**
 * Finds the recorded call for one of a replay: of the same module, method and arguments, the first that is left. Ids that
 * the run made itself are equal by their position.
 */
export class CallMatcher {
  readonly #run: TapedRun
  /** Calls that were not taken, by what they ask for. */
  readonly #open = new Map<string, TapedCall[]>()
  readonly #left: Set<TapedCall>
  /** Ids of the replay by those of the tape. */
  readonly #renamed = new Map<string, string>()
  #ownIds: ReadonlySet<string> | undefined

  /** @param calls that the replay is to ask for */
  constructor(run: TapedRun, calls: readonly TapedCall[]) {
    this.#run = run
    this.#left = new Set(calls)
    for (const call of calls) {
      const key = keyOf(call.line)
      const same = this.#open.get(key)
      if (same) same.push(call)
      else this.#open.set(key, [call])
    }
  }

  /** Calls that were not taken, in their order. */
  get left(): ReadonlySet<TapedCall> {
    return this.#left
  }

  /** @returns undefined for a call that the tape does not have, or has no more */
  take(asked: AskedCall): TapedCall | undefined {
    const same = this.#open.get(keyOf(asked)) ?? []
    const index = same.findIndex(({ line }) => this.#isSame(line.arguments, asked.arguments))
    const [call] = index === -1 ? [] : same.splice(index, 1)
    if (!call) return undefined
    this.#left.delete(call)
    return call
  }

  /** Takes the next call of a method before a call, whatever its arguments; a tool is called by its name. */
  takeNext({ module, caller, method, arguments: args }: AskedCall, before: number): TapedCall | undefined {
    const call = [...this.#left].find(({ line }) => {
      const isSame = line.module === module && line.caller === caller && line.method === method
      return isSame && (method !== 'executeTool' || line.arguments[0] === args[0])
    })
    if (!call || call.line.call >= before) return undefined
    this.#left.delete(call)
    const same = this.#open.get(keyOf(call.line)) ?? []
    same.splice(same.indexOf(call), 1)
    return call
  }

  /** The text of a line with the ids of the replay in the place of those of the tape. */
  readonly rename = (text: string): string =>
    this.#renamed.size === 0 ? text : text.replace(IDS, (id) => this.#renamed.get(id) ?? id)

  /** The call that was most likely meant: the nearest of the same method, otherwise the next one. */
  nearest({ module, caller, method, arguments: args }: AskedCall): TapedCall | undefined {
    const left = [...this.#left]
    const alike = left.filter(
      ({ line }) => line.module === module && line.method === method && (module !== STORAGE || line.caller === caller),
    )
    const [nearest] = alike
      .map((call) => ({ call, count: describeDifferences(call.line.arguments, args).length }))
      .sort((a, b) => a.count - b.count)
    return nearest?.call ?? left[0]
  }

  #isSame(recorded: readonly JsonValue[], asked: readonly JsonValue[]): boolean {
    if (isDeepStrictEqual(recorded, asked)) return true
    const before = [...JSON.stringify(recorded).matchAll(IDS)].map(([id]) => id)
    const after = [...JSON.stringify(asked).matchAll(IDS)].map(([id]) => id)
    const renamed = new Map(this.#renamed)
    for (const [index, id] of before.entries()) {
      const now = after[index] ?? id
      const expected = renamed.get(id) ?? (this.#isOwn(id) ? now : id)
      if (expected !== now) return false
      if (id !== now) renamed.set(id, now)
    }
    const text = JSON.stringify(recorded).replace(IDS, (id) => renamed.get(id) ?? id)
    if (!isDeepStrictEqual(JSON.parse(text), asked)) return false
    for (const [id, now] of renamed) this.#renamed.set(id, now)
    return true
  }

  /** True for an id that stands in the arguments of a call before anything else has brought it. */
  #isOwn(id: string): boolean {
    this.#ownIds ??= findOwnIds(this.#run)
    return this.#ownIds.has(id)
  }
}

/** Pipelines and loops ask for the same with other ids: they share a key. */
function keyOf({ module, caller, method, arguments: args }: AskedCall): string {
  const from = module === STORAGE ? caller : ''
  return `${module}\n${from}\n${method}\n${toSortedJson(args).replace(IDS, '*')}`
}

function findOwnIds({ turn, calls }: TapedRun): ReadonlySet<string> {
  const given = new Set(idsIn(turn))
  const own = new Set<string>()
  const lines = calls.flatMap(({ at, line, steps }) => [
    { at, ids: () => idsIn(line.arguments), isCall: true },
    ...steps.map((step) => ({ at: step.at, ids: () => idsIn(step.read()), isCall: false })),
  ])
  for (const { ids, isCall } of lines.sort((a, b) => a.at - b.at)) {
    for (const id of ids()) if (!given.has(id) && !own.has(id)) (isCall ? own : given).add(id)
  }
  return own
}

function idsIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(IDS)].map(([id]) => id)
}
