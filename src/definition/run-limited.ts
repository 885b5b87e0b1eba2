import { createContext, Script } from 'node:vm'

const sandbox: { work?: (() => unknown) | undefined } = {}
const call = new Script('work()')

/**
 * Calls a synchronous function and stops it at a deadline, even inside a regular expression that
 * backtracks, or references that multiply. Costs about 0.1 ms.
 *
 * @throws Error with the code `ERR_SCRIPT_EXECUTION_TIMEOUT`, or the error of the function
 */
export function runLimited<T>(work: () => T, limitMs: number): T {
  createContext(sandbox)
  sandbox.work = work
  try {
    return call.runInContext(sandbox, { timeout: limitMs }) as T
  } finally {
    sandbox.work = undefined
  }
}

/** Reports whether {@link runLimited} stopped the function. */
export function isTimeLimit(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
