import { deferred, settlesWithin } from '../async.ts'
import { HostError } from '../errors.ts'
import { type RunObserver, StartedRun } from '../run/started-run.ts'
import type { RunQuota } from '../run/state/run-quota.ts'
import type { RunEnd, RunHandle } from '../run/turn.ts'

/**
 * Runs whose caller waits, background runs, and looks at a module, which count as no runs: each has a limit of its own, so that none locks
 * another out.
 */
export type RunKind = 'runs' | 'background runs' | 'looks'

export interface RunningRunsOptions {
  /** Maximum number of concurrent runs of each kind. */
  readonly limits: Readonly<Record<RunKind, number>>
  /** Time after which a run is aborted, in milliseconds. */
  readonly timeoutMs: number
  /** Called for every run that has its outcome, looks excepted. */
  readonly onSettled: (describe: () => RunEnd) => void
}

/** Slot that is kept for one run: its start cannot be refused for load, nor because the server closes meanwhile. */
export interface Slot {
  /** Begins the run of the slot. */
  begin(start: (observer: RunObserver) => RunHandle, quota?: RunQuota): RunHandle
  /** Gives the slot up, unless its run has begun. */
  release(): void
}

/** Interval at which runs are compared with their limit: a timer for each would cost every run, and few reach it. */
const TIMEOUT_CHECK_MS = 500

/** Runs under way: counted against their limits, and aborted when they take too long. */
export class RunningRuns {
  readonly #limits: Readonly<Record<RunKind, number>>
  readonly #timeoutMs: number
  readonly #observers: Readonly<Record<RunKind, RunObserver>>
  readonly #childObserver: RunObserver
  /** Runs whose code has not ended: also those that ignore their abort. */
  readonly #occupied: Record<RunKind, number> = { runs: 0, 'background runs': 0, looks: 0 }
  /** Runs without an outcome yet, with the time of their start by `performance.now()`, in that order. */
  readonly #open = new Map<RunHandle, number>()
  /** Slots whose run has not begun: each is fulfilled when it begins, or is given up. */
  readonly #reserved = new Set<Promise<void>>()
  #clock: NodeJS.Timeout | undefined
  /** Set when runs are aborted because the server closes: also those that begin later, on a slot from before. */
  #cutOff: HostError | undefined

  constructor({ limits, timeoutMs, onSettled }: RunningRunsOptions) {
    this.#limits = limits
    this.#timeoutMs = timeoutMs
    const observe = (kind: RunKind): RunObserver => ({
      onSettled: (handle, describe) => {
        this.#open.delete(handle)
        if (kind !== 'looks') onSettled(describe)
      },
      onFinished: () => {
        this.#occupied[kind]--
      },
    })
    this.#observers = { runs: observe('runs'), 'background runs': observe('background runs'), looks: observe('looks') }
    this.#childObserver = { onSettled: this.#observers.runs.onSettled, onFinished: () => {} }
  }

  /** Number of runs whose code has not ended. */
  get count(): number {
    return this.#occupied.runs + this.#occupied['background runs']
  }

  /** Number of runs of a kind that could begin now. */
  free(kind: RunKind): number {
    return Math.max(this.#limits[kind] - this.#occupied[kind], 0)
  }

  /**
   * @param quota place of the run among those of its sender, where that has limits
   * @throws HostError `OVERLOADED` when as many of this kind are under way as may be
   */
  begin(kind: RunKind, start: (observer: RunObserver) => RunHandle, quota?: RunQuota): RunHandle {
    this.#refuseWhenFull(kind)
    const handle = start(quota ? withQuota(this.#observers[kind], quota) : this.#observers[kind])
    this.#occupied[kind]++
    return this.#add(handle)
  }

  /** Begins a run on the slot of its parent. */
  beginChild(start: (observer: RunObserver) => RunHandle): RunHandle {
    return this.#add(start(this.#childObserver))
  }

  /** @throws HostError `OVERLOADED` as {@link RunningRuns.begin} */
  reserve(kind: RunKind): Slot {
    this.#refuseWhenFull(kind)
    const { promise, resolve } = deferred()
    this.#occupied[kind]++
    this.#reserved.add(promise)
    const leave = () => {
      resolve()
      return this.#reserved.delete(promise)
    }
    return {
      begin: (start, quota) => {
        const handle = start(quota ? withQuota(this.#observers[kind], quota) : this.#observers[kind])
        leave()
        return this.#add(handle)
      },
      release: () => {
        if (leave()) this.#occupied[kind]--
      },
    }
  }

  #refuseWhenFull(kind: RunKind): void {
    const limit = this.#limits[kind]
    if (this.#occupied[kind] < limit) return
    throw new HostError('OVERLOADED', `All slots for ${kind} are taken (limit: ${limit}).`)
  }

  #add(handle: RunHandle): RunHandle {
    this.#open.set(handle, performance.now())
    this.#watchTimeouts()
    if (this.#cutOff) handle.abort(this.#cutOff)
    return handle
  }

  /** Aborts a run. Returns false for an unknown id. */
  abort(runId: string, reason: unknown): boolean {
    const handle = [...this.#open.keys()].find(({ id }) => id === runId)
    handle?.abort(reason)
    return handle !== undefined
  }

  /** Aborts the runs of a user. @returns their ids */
  abortAllOf(tenant: string, user: string, reason: unknown): string[] {
    const runs = [...this.#open.keys()].filter((run) => run instanceof StartedRun && run.isOf(tenant, user))
    for (const run of runs) run.abort(reason)
    return runs.map(({ id }) => id)
  }

  /** Waits for the runs under way, and aborts those that take longer. */
  async drain(timeoutMs: number): Promise<void> {
    if (await settlesWithin(this.#whenIdle(), timeoutMs)) return
    this.#cutOff = new HostError('SHUTTING_DOWN', 'The server shuts down.')
    for (const run of this.#open.keys()) run.abort(this.#cutOff)
  }

  async #whenIdle(): Promise<void> {
    while (this.#open.size + this.#reserved.size > 0) {
      await Promise.allSettled([...[...this.#open.keys()].map(({ result }) => result), ...this.#reserved])
    }
  }

  /** Starts the one clock for all; it stops when nothing runs. */
  #watchTimeouts(): void {
    if (this.#clock || this.#timeoutMs === Infinity) return
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

/** Ends the place of a run with its outcome. */
function withQuota(observer: RunObserver, quota: RunQuota): RunObserver {
  return {
    quota,
    onSettled: (handle, describe) => {
      quota.end(describe().usage)
      observer.onSettled(handle, describe)
    },
    onFinished: observer.onFinished,
  }
}
