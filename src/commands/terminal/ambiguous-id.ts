import { type ErrorCode, HostError } from '../../errors.ts'

/** Ids that an error about a beginning of several ids names. */
export const NAMED_IDS = 5

/**
 * Error that the first characters of an id mean several things.
 *
 * @param things plural, as in `runs`
 * @param ids of those that begin with it; beyond {@link NAMED_IDS} they are left out
 */
export function ambiguousId(code: ErrorCode, things: string, prefix: string, ids: readonly string[]): HostError {
  const more = ids.length > NAMED_IDS ? ['...'] : []
  return new HostError(code, `Several ${things} begin with '${prefix}'. Add more characters of one of these:`, {
    suggestions: [...ids.slice(0, NAMED_IDS), ...more],
  })
}
