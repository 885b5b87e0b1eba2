import { setImmediate } from 'node:timers/promises'
import { defaultFieldResolver, type GraphQLFieldResolver, getNullableType, isListType } from 'graphql'
import { badRequest } from '../../../../errors.ts'
import type { Viewer } from '../viewer.ts'

/** A shorter query cannot ask for so much that other requests wait for it, unless it names a list whose length clients decide. */
const NARROW_CHARS = 256
const LONG_LISTS = /\b(?:events|cases|below)\b/
/** Time after which other requests get their turn. */
const TURN_MS = 20
/** Maximum of the fields in the answer to one query, lists counted by their items. */
const MAX_FIELDS = 500_000
const TOO_MANY = `A query answers with ${MAX_FIELDS} fields at most: ask for fewer fields, runs or events in one query.`

/** Tells whether a query may ask for so much that it is answered in turns. */
export function mayBeWide(query: string): boolean {
  return query.length > NARROW_CHARS || LONG_LISTS.test(query)
}

/**
 * Returns the resolver for the fields of one query. The library completes a list at one go, but pulls its items one by one: those that
 * come after a turn of work are promises, kept after a pause.
 */
export function resolveInTurns(): GraphQLFieldResolver<unknown, Viewer> {
  let fields = 0
  let sinceMs = performance.now()
  let turn: Promise<unknown> = Promise.resolve()
  const isOver = () => fields > MAX_FIELDS || performance.now() - sinceMs > TURN_MS
  const pause = async () => {
    await setImmediate()
    sinceMs = performance.now()
  }
  const later = async (item: unknown) => {
    turn = turn.then(() => (isOver() ? pause() : undefined))
    await turn
    if (fields > MAX_FIELDS) throw badRequest(TOO_MANY)
    return item
  }
  function* inTurns(items: readonly unknown[]) {
    for (const item of items) yield isOver() ? later(item) : item
  }
  return (source, args, viewer, info) => {
    fields++
    const value: unknown = defaultFieldResolver(source, args, viewer, info)
    if (typeof value !== 'object' || value === null || !isListType(getNullableType(info.returnType))) return value
    if (!(value instanceof Promise) && !isOver()) return inTurns(value as unknown[])
    // A whole list, too: the library would make a promise of each of its items at once.
    return Promise.resolve(value)
      .then(later)
      .then((items) => items && inTurns(items as unknown[]))
  }
}
