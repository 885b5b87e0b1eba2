import type { KeyRange } from './record-store.ts'

/** A range of keys by its ends. */
export interface KeyBounds {
  /** Inclusive. */
  readonly from: string
  /** Exclusive. */
  readonly to: string
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

/** The largest number that every database takes. */
const MAX_LIMIT = 2 ** 31 - 1

/**
 * Returns the ends of a range. Keys are visible ASCII: the characters before and after those stand between any two of them.
 *
 * @param toName gives the name under which a key is stored
 */
export function boundsOf({ prefix, after, before, order = 'asc', limit }: KeyRange, toName = keep): KeyBounds {
  const [first, end] = [toName(prefix), endOf(toName(prefix))]
  const from = after === undefined || after < prefix ? first : `${toName(after)}\x01`
  const to = before === undefined || toName(before) > end ? end : toName(before)
  return { from, to, order, limit: Math.min(limit, MAX_LIMIT) }
}

/** Returns the first text after all that begin with the prefix. */
export function endOf(prefix: string): string {
  return `${prefix}\x7f`
}

function keep(key: string): string {
  return key
}
