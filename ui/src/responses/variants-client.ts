import type { Variant, VariantProblem, VariantRefusal, VariantRequest } from '../../../src/wire/variant.ts'
import { authorization } from '../token.ts'
import { agentOf, type Column, isVaried, requestedChanges } from './column.ts'

const ENDPOINT = 'api/ui/variants'
/** The agent changed since. */
const CHANGED = 409

/** Refusal of a variant, with the values that it is about. */
export class RefusedVariant extends Error {
  readonly problems: readonly VariantProblem[]
  /** True when another version of the agent is in service. */
  readonly isOutdated: boolean

  constructor(status: number, { detail, problems = [] }: Partial<VariantRefusal>) {
    super(detail ?? `The server answered ${status}.`)
    this.problems = problems
    this.isOutdated = status === CHANGED
  }
}

/** @throws RefusedVariant */
export async function makeVariant(request: VariantRequest, signal?: AbortSignal): Promise<Variant> {
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(request),
    signal: signal ?? null,
  })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new RefusedVariant(response.status, body as Partial<VariantRefusal>)
  return body as Variant
}

const known = new Map<string, Promise<string>>()

/** Returns the id of a column's variant, which is made once; undefined for the agent as it is. */
export async function variantIdOf(column: Column): Promise<string | undefined> {
  if (!isVaried(column)) return undefined
  const { version } = column
  const changes = requestedChanges(column)
  const request = { agent_id: agentOf(column), changes, ...(version === undefined ? {} : { version }) }
  const key = JSON.stringify(request)
  const making = known.get(key) ?? makeVariant(request).then(({ id }) => id)
  known.set(key, making)
  making.catch(() => known.delete(key))
  return making
}

/** Has variants be made again: a server that starts again has forgotten them. */
export function forgetVariants(): void {
  known.clear()
}
