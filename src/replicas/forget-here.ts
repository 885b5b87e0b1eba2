import { setTimeout as wait } from 'node:timers/promises'
import { HostError } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import { UserForgotten } from '../store/record-storage.ts'
import { forgetTapes } from '../tape/forget-tapes.ts'
import type { ForgetQuery } from '../trace/run-index/trace-query.ts'
import type { Traces } from '../trace/traces.ts'

/** Parts of a server that keep something of runs beside the store. */
export interface Here {
  readonly host: Pick<AgentHost, 'abortAllOf'>
  /** Undefined where none are kept. */
  readonly traces: Traces | undefined
  /** Absolute. */
  readonly projectDir: string
  /** Deletes tapes, those that are being written included; undefined for a server that records none. */
  readonly deleteTapes?: ((runIds: readonly string[]) => Promise<void>) | undefined
}

/** Numbers of runs that one server has ended and removed. */
export interface ForgottenHere {
  readonly ended: number
  readonly traces: number
  readonly tapes: number
}

/** Time that another process gets to index what it has written: it looks around every second. */
const MAX_WAIT_MS = 5000
const LOOK_MS = 100

/**
 * Ends the runs of a user in this process, and removes their traces and tapes from the folder of the project.
 *
 * @throws HostError `STORE_UNAVAILABLE`
 */
export async function forgetHere(here: Here, wanted: ForgetQuery): Promise<ForgottenHere> {
  const { host, traces, projectDir, deleteTapes } = here
  const end = () => host.abortAllOf(wanted.tenant, wanted.user, new UserForgotten('The data of its user is deleted.'))
  // Another process may have removed the beginning of such a run: its end would stay.
  const ended = traces ? traces.endUnwritten(end) : end()
  const all = { ...wanted, runIds: [...wanted.runIds, ...ended] }
  traces?.ignore(all.runIds)
  // A tool speaks even after runs that ended before. What it says until now is removed below.
  traces?.ignore(await traces.query('ofUser', all))
  // A run that has ended just before may not be in its file yet.
  await deleteTapes?.(all.runIds)
  const removed = traces ? await forgetTraces(traces, all) : 0
  return { ended: ended.length, traces: removed, tapes: await forgetTapes(projectDir, all) }
}

async function forgetTraces(traces: Traces, wanted: ForgetQuery): Promise<number> {
  await traces.settled()
  for (const untilMs = performance.now() + MAX_WAIT_MS; performance.now() < untilMs; await wait(LOOK_MS)) {
    const removed = await traces.query('forget', wanted)
    if (removed !== undefined) {
      // Summaries that are published by then are deleted by the caller.
      await traces.settled()
      return removed
    }
  }
  throw new HostError('STORE_UNAVAILABLE', 'The traces cannot be cleaned: another process writes them all the time.', {
    suggestions: ['Run the command again.'],
  })
}
