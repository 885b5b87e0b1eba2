import { isDeepStrictEqual } from 'node:util'
import { badOption } from '../errors.ts'
import { namePlace, withoutOwnId } from '../variants/called-changes.ts'
import { nameChanges } from '../wire/describe-change.ts'
import type { EvalColumn } from '../wire/eval-result.ts'
import type { VariantChange } from '../wire/variant.ts'

const MAX_VARIANTS = 16

/**
 * Returns the variants that changes make, the agent as it is first: values of one place are alternatives, those of several places
 * are combined.
 *
 * @throws HostError `OPTION_INVALID` for more than 16
 */
export function makeVariants(changes: readonly VariantChange[]): VariantChange[][] {
  if (changes.length === 0) return [[]]
  const places = new Map<string, VariantChange[]>()
  for (const change of changes) {
    const place = namePlace(change)
    places.set(place, [...(places.get(place) ?? []), change])
  }
  const count = [...places.values()].reduce((product, values) => product * values.length, 1)
  if (count > MAX_VARIANTS) throw badOption(`--set makes ${count} variants; at most ${MAX_VARIANTS} are run.`)
  const combined = [...places.values()].reduce<VariantChange[][]>(
    (variants, values) => variants.flatMap((variant) => values.map((value) => [...variant, value])),
    [[]],
  )
  return [[], ...combined]
}

/** @param valueOf returns the value of an agent as its file has it; undefined for none */
export async function makeColumn(
  agent: string,
  changes: readonly VariantChange[],
  valueOf: (agent: string, change: VariantChange) => Promise<unknown>,
): Promise<EvalColumn> {
  const own = withoutOwnId(changes, agent.split('/')[0] ?? agent)
  const before = await Promise.all(own.map((change) => valueOf(change.agent ?? agent, change)))
  const traced = own.map((change, index) => ({ ...change, before: before[index] }))
  const name = own.length === 0 ? agent : `${agent} (${nameChanges(traced)})`
  return { name, agent, version: null, changes: own }
}

/** True for the same agent with the same changes. */
export function isSameColumn(one: EvalColumn, other: EvalColumn): boolean {
  return one.agent === other.agent && isDeepStrictEqual(one.changes, other.changes)
}

/** Returns a column with a number after its name where another has it: long values are shortened, and may begin alike. */
export function withOwnName(column: EvalColumn, others: readonly EvalColumn[]): EvalColumn {
  const taken = new Set(others.map(({ name }) => name))
  let name = column.name
  for (let number = 2; taken.has(name); number++) name = `${column.name} ${number}`
  return { ...column, name }
}
