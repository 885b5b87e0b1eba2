import { settlesWithin } from '../async.ts'
import { HostError } from '../errors.ts'
import type { RunObserver } from '../run/started-run.ts'
import type { RunEnd, RunHandle } from '../run/turn.ts'

/** Runs that somebody waits for, and background runs: each has a limit of its own, so that neither locks the other out. */
export type RunKind = 'runs' | 'background runs'

export interface RunningRunsOptions {
  /** Maximum number of concurrent runs of each kind. */
  readonly limits: Readonly<Record<RunKind, number>>
  /** Time after which a run is aborted, in milliseconds. */
  readonly timeoutMs: number
  /** Hears of every run that has its outcome. */
  readonly onSettled: (describe: () => RunEnd) => void
}

/** Interval at which runs are compared with their limit: a timer for each would cost every run, and few reach it. */
const TIMEOUT_CHECK_MS = 500

/** Runs under way: counted against their limits, and aborted when they take too long. */
export class RunningRuns {
  readonly #limits: Readonly<Record<RunKind, number>>
  readonly #timeoutMs: number
  readonly #observers: Readonly<Record<RunKind, RunObserver>>
  /** Runs whose code has not ended: also those that ignore their abort. */
  readonly #occupied: Record<RunKind, number> = { runs: 0, 'background runs': 0 }
  /** Runs without an outcome yet, with the time of their start by `performance.now()`, in that order. */
  readonly #open = new Map<RunHandle, number>()
  #clock: NodeJS.Timeout | undefined

  constructor({ limits, timeoutMs, onSettled }: RunningRunsOptions) {
    this.#limits = limits
    this.#timeoutMs = timeoutMs
    const observe = (kind: RunKind): RunObserver => ({
      onSettled: (handle, describe) => {
        this.#open.delete(handle)
        onSettled(describe)
      },
      onFinished: () => {
        this.#occupied[kind]--
      },
    })
    this.#observers = { runs: observe('runs'), 'background runs': observe('background runs') }
  }

  /** Number of runs whose code has not ended. */
  get count(): number {
    return this.#occupied.runs + this.#occupied['background runs']
  }

  /** Number of runs of a kind that could begin now. */
  free(kind: RunKind): number {
    return Math.max(this.#limits[kind] - this.#occupied[kind], 0)
  }

  /** @throws HostError `OVERLOADED` when as many of this kind are under way as may be */
  begin(kind: RunKind, start: (observer: RunObserver) => RunHandle): RunHandle {
    const limit = this.#limits[kind]
    if (this.#occupied[kind] >= limit) {
      throw new HostError('OVERLOADED', `${limit} ${kind} are under way, which is the limit.`)
    }
    const handle = start(this.#observers[kind])
    this.#open.set(handle, performance.now())
    this.#occupied[kind]++
    this.#watchTimeouts()
    return handle
  }

  /** Aborts a run. Returns false for an unknown id. */
  abort(runId: string, reason: unknown): boolean {
    const handle = [...this.#open.keys()].find(({ id }) => id === runId)
    handle?.abort(reason)
    return handle !== undefined
  }

  /** Waits for the runs under way, and aborts those that take longer. */
  async drain(timeoutMs: number): Promise<void> {
    const results = [...this.#open.keys()].map(({ result }) => result)
    if (await settlesWithin(Promise.allSettled(results), timeoutMs)) return
    for (const run of this.#open.keys()) run.abort(new HostError('SHUTTING_DOWN', 'The server shuts down.'))
  }

  /** Starts the one clock for all; it stops when nothing runs. */
  #watchTimeouts(): void {
    if (this.#clock || this.#timeoutMs === Number.POSITIVE_INFINITY) return
    this.#clock = setInterval(() => this.#abortLate(), TIMEOUT_CHECK_MS).unref()
  }

  #abortLate(): void {
    const lastMs = performance.now() - this.#timeoutMs
    for (const [run, startedMs] of this.#open) {
      if (startedMs > lastMs) break
      run.abort(new HostError('RUN_TIMEOUT', `The run took longer than ${this.#timeoutMs / 1000} s.`))
    }
    if (this.#open.size > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}
