import { isTimeLimit, runLimited } from 'agent-host'

/** Time that one regular expression gets: it may backtrack for ever. */
const LIMIT_MS = 200

/** Returns what the work returns, or `late` when a regular expression in it takes too long. */
export function withinLimit<T>(work: () => T, late: T): T {
  try {
    return runLimited(work, LIMIT_MS)
  } catch (error) {
    if (!isTimeLimit(error)) throw error
    return late
  }
}
