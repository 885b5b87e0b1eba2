import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { RunStore, StoredRun } from '../../../../durable/runs/run-store.ts'
import { badRequest, type HostError } from '../../../../errors.ts'
import { MAX_PAGE_LENGTH, spendLength } from '../../../../json.ts'
import { findItem } from '../ids.ts'
import type { ItemsQuery, PageQuery } from './page-query.ts'
import type { InputItem, Page } from './schema.ts'

/** A page of a response's own input items. Their ids contain their position, so that only the page itself is read. */
export async function listInputItems(store: RunStore, stored: StoredRun, query: ItemsQuery): Promise<Page<InputItem>> {
  const place = (cursor: string | undefined, name: string) => placeOf(cursor, name, stored.id, stored.inputs)
  const { from, to, hasMore } = cutPage(
    stored.inputs,
    query,
    place(query.after, 'after'),
    place(query.before, 'before'),
  )
  const items = (await store.items(stored, from, to)) as InputItem[]
  return toPage(query.order === 'asc' ? items : items.reverse(), hasMore)
}

/**
 * A page of all responses. Reads on where none of a page can be read: clients would take it for the last one.
 *
 * @param read gives undefined for one that is left out
 */
export async function listResponses<T extends { readonly id: string }>(
  store: RunStore,
  ids: RunIds,
  { limit, order, after }: PageQuery,
  read: (id: string) => Promise<T | undefined>,
): Promise<Page<T>> {
  if (after !== undefined && !(ids.isId(after) && (await store.has(after)))) throw unknownCursor('after')
  for (let last = after; ; ) {
    const bound = last === undefined ? {} : { [order === 'asc' ? 'after' : 'before']: last }
    const found = await store.list({ order, limit: limit + 1, ...bound })
    const page = await readPage(found.slice(0, limit), found.length > limit, read)
    if (page.data.length > 0 || !page.has_more) return page
    last = found[limit - 1]
  }
}

/** Reads the entries of a page one after another, until it is long enough: the rest follows on the next page. */
async function readPage<T extends { readonly id: string }>(
  ids: readonly string[],
  hasMore: boolean,
  read: (id: string) => Promise<T | undefined>,
): Promise<Page<T>> {
  const data: T[] = []
  let left = MAX_PAGE_LENGTH
  for (const id of ids) {
    const entry = await read(id)
    left = spendLength(entry, left)
    if (left < 0 && data.length > 0) return toPage(data, true)
    if (entry) data.push(entry)
  }
  return toPage(data, hasMore)
}

export function toPage<T extends { readonly id: string | null }>(data: readonly T[], has_more: boolean): Page<T> {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more }
}

/**
 * Returns the items of a page, as indexes in the order in which they were given: from (inclusive), to (exclusive).
 *
 * With `after` a page begins behind it; with `before` alone it ends just ahead of it. `hasMore` speaks of the side to which
 * the page goes on.
 */
function cutPage(
  count: number,
  { limit, order }: Pick<PageQuery, 'limit' | 'order'>,
  after: number | undefined,
  before: number | undefined,
): { from: number; to: number; hasMore: boolean } {
  // Between the cursors, in the order of the items.
  const [low, high] = order === 'asc' ? [after, before] : [before, after]
  const [from, to] = [low === undefined ? 0 : low + 1, Math.max(high ?? count, low === undefined ? 0 : low + 1)]
  const hasMore = to - from > limit
  const isFromStart = (order === 'asc') === (after !== undefined || before === undefined)
  return isFromStart
    ? { from, to: Math.min(to, from + limit), hasMore }
    : { from: Math.max(from, to - limit), to, hasMore }
}

function placeOf(cursor: string | undefined, name: string, id: string, inputs: number): number | undefined {
  if (cursor === undefined) return undefined
  const found = findItem(cursor)
  if (found?.responseId === id && found.list === 'input' && found.index < inputs && cursor.startsWith('msg_')) {
    return found.index
  }
  throw unknownCursor(name)
}

export function unknownCursor(name: string): HostError {
  return badRequest(`${name} must be an id of this list`)
}
