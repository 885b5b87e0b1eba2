import { createContext, Script } from 'node:vm'
import { systemCodeOf } from '../errors.ts'
import { FUNCTION, POSITIVE, requireGiven } from '../given.ts'

const sandbox: { work?: (() => unknown) | undefined } = {}
const call = new Script('work()')

/** Maximum attempts when the process has had little CPU time before the deadline. */
const MAX_CALLS = 3

/** Limit of Node. */
const LONGEST_MS = 2 ** 32 - 1

/**
 * Calls a synchronous function and stops it at a deadline, even inside a regular expression that
 * backtracks, or references that multiply. Costs about 0.1 ms.
 *
 * @param work is called again if other processes used up the time, so it must be safe to repeat. All calls together get little more CPU
 *   time than one
 * @throws Error with the code `ERR_SCRIPT_EXECUTION_TIMEOUT`, or the error of the function
 *
 * @example
 * ```ts
 * export function findInTime(pattern: RegExp, text: string): string | undefined {
 *   return runLimited(() => pattern.exec(text)?.[0], 200)
 * }
 * ```
 */
export function runLimited<T>(work: () => T, limitMs: number): T {
  requireGiven(FUNCTION, work, 'work')
  requireGiven(POSITIVE, limitMs, 'limitMs')
  const before = process.cpuUsage()
  for (let calls = 1; ; calls++) {
    try {
      return runOnce(work, limitMs)
    } catch (error) {
      const { user, system } = process.cpuUsage(before)
      const wasBusy = (user + system) / 1000 > limitMs / 2
      if (!isTimeLimit(error) || wasBusy || calls === MAX_CALLS) throw error
    }
  }
}

function runOnce<T>(work: () => T, limitMs: number): T {
  createContext(sandbox)
  sandbox.work = work
  try {
    return call.runInContext(sandbox, { timeout: Math.min(limitMs, LONGEST_MS) }) as T
  } finally {
    sandbox.work = undefined
  }
}

/**
 * Reports whether {@link runLimited} stopped the function.
 *
 * @example
 * ```ts
 * export function findOrGiveUp(pattern: RegExp, text: string): string | undefined {
 *   try {
 *     return runLimited(() => pattern.exec(text)?.[0], 200)
 *   } catch (error) {
 *     if (isTimeLimit(error)) return undefined
 *     throw error
 *   }
 * }
 * ```
 */
export function isTimeLimit(error: unknown): boolean {
  return systemCodeOf(error) === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
