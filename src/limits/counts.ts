import { HostError } from '../errors.ts'
import { isObject, parseJson } from '../json.ts'

/** Use of a key or a tenant, over all servers, as it is stored. */
export interface Counts {
  /** Minute that the requests are of, since the epoch. */
  minute: number
  requests: number
  /** Day that tokens and cost are of, since the epoch, in UTC. */
  day: number
  tokens: number
  /** US dollars. */
  cost: number
  /** Runs under way, by the server that began them. */
  servers: Record<string, number>
  /** Runs that were accepted for the background and have not ended, with the times of that (milliseconds since the epoch). */
  background: Record<string, number>
}

export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** Reads counts; undefined are those of a new holder. @throws HostError `RECORD_UNREADABLE`: limits that are not known refuse */
export function readCounts(key: string, text: string | undefined): Counts {
  if (text === undefined) return { minute: 0, requests: 0, day: 0, tokens: 0, cost: 0, servers: {}, background: {} }
  const counts = parseJson(text)
  if (isCounts(counts)) return counts
  throw new HostError('RECORD_UNREADABLE', `The stored counts '${key}' are damaged.`, {
    suggestions: ['Restore the store, or remove this record: the counts then begin anew.'],
  })
}

/** A number that is missing would be within every limit. */
function isCounts(value: unknown): value is Counts {
  if (!isObject(value) || !isObject(value.servers) || !isObject(value.background)) return false
  const { minute, requests, day, tokens, cost, servers, background } = value
  const numbers = [minute, requests, day, tokens, cost, ...Object.values(servers), ...Object.values(background)]
  return numbers.every((number) => typeof number === 'number' && number >= 0)
}

/**
 * Begins counts anew where their minute or day is over. After a jump of the clock they go on in the new minute and day: a clock never gives back
 * what was used. Another server may be a moment ahead.
 */
export function renew(counts: Counts, nowMs: number, hasJumped: boolean): void {
  const minute = Math.floor(nowMs / MINUTE_MS)
  const day = Math.floor(nowMs / DAY_MS)
  if (counts.minute !== minute && counts.minute !== minute + 1) {
    if (minute > counts.minute && !hasJumped) counts.requests = 0
    counts.minute = minute
  }
  if (counts.day !== day && counts.day !== day + 1) {
    if (day > counts.day && !hasJumped) Object.assign(counts, { tokens: 0, cost: 0 })
    counts.day = day
  }
}

/** Number of runs under way. */
export function countRuns({ servers, background }: Counts): number {
  return Object.values(servers).reduce((sum, count) => sum + count, 0) + Object.keys(background).length
}
