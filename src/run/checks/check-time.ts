import { isTimeLimit, runLimited } from '../../definition/run-limited.ts'

/** Time of all checks of a run. Schemas, expressions and values come from clients, models and MCP servers, and may take for ever. */
const CHECKS_MS = 200
/** A check that is quicker does not count, and each gets that much: there may be any number of them. */
const QUICK_MS = 10

/** Problem of what could not be checked in time. */
export const LATE = `its checks take longer than ${CHECKS_MS} ms.`

/** Time that the checks of a run have together, those of the runs that it begins included. */
export class CheckTime {
  #leftMs = CHECKS_MS

  /**
   * Calls a check with the time that is left.
   *
   * @throws Error of {@link runLimited}
   */
  spend<T>(check: () => T): T {
    const [before, startMs] = [process.cpuUsage(), performance.now()]
    try {
      return runLimited(check, Math.ceil(Math.max(QUICK_MS, this.#leftMs)))
    } finally {
      const { user, system } = process.cpuUsage(before)
      // Neither time that other processes took, nor that of other threads of this one.
      const tookMs = Math.min((user + system) / 1000, performance.now() - startMs)
      if (tookMs > QUICK_MS) this.#leftMs -= tookMs
    }
  }

  /** Returns the problem that a check finds, or that there was no time left for it. */
  problemOf(check: () => string | undefined): string | undefined {
    try {
      return this.spend(check)
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      return LATE
    }
  }
}
