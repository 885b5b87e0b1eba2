import { invalidParams } from './json-rpc.ts'

/** Clients that know no pages see this many of a list. */
export const PAGE_SIZE = 1000

/** Part of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | undefined
}

/**
 * Cuts a page out of a list, by name, so that nothing is lost or listed twice while things come and go.
 *
 * @param nameOf unique among the items
 * @throws JsonRpcError `INVALID_PARAMS` for a foreign cursor
 */
export function cutPage<T>(items: readonly T[], nameOf: (item: T) => string, cursor: unknown): Page<T> {
  const after = readCursor(cursor)
  const sorted = [...items].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const rest = after === undefined ? sorted : sorted.filter((item) => nameOf(item) > after)
  const page = rest.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  const nextCursor = rest.length > PAGE_SIZE && last ? Buffer.from(nameOf(last)).toString('base64url') : undefined
  return { items: page, nextCursor }
}

/**
 * Returns the name of the last item before a page; undefined for the first page.
 *
 * @throws JsonRpcError `INVALID_PARAMS` for a foreign cursor
 */
export function readCursor(cursor: unknown): string | undefined {
  if (cursor == null) return undefined
  const name = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  if (name !== '' && Buffer.from(name).toString('base64url') === cursor) return name
  throw invalidParams('cursor must be the nextCursor of an earlier page')
}
