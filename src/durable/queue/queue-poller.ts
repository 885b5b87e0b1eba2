import { WakeLoop } from '../wake-loop.ts'
import type { RunQueue } from './run-queue.ts'
import type { Claimer } from './run-worker.ts'

/** Polling interval of the queue: a notice may be lost, or a slot become free. */
const POLL_MS = 1000
/** Runs that are claimed at once. */
const MAX_CLAIMS = 100
/** Runs that are read beyond those wanted: other workers want the oldest ones, too. */
const SPARE = 10

/** Delivers queued runs of the store to a worker, oldest first, as soon as it has a free slot. */
export class QueuePoller {
  readonly #queue: RunQueue
  readonly #worker: Claimer
  readonly #loop: WakeLoop
  /** Number of runs that the last look passed over: the next one reads as many more. */
  #passed = 0

  constructor(queue: RunQueue, worker: Claimer) {
    this.#queue = queue
    this.#worker = worker
    this.#loop = new WakeLoop({
      everyMs: POLL_MS,
      watch: (wake) => queue.watch(wake),
      look: () => this.#claimSome(),
      onFailure: (error) => worker.report(error),
    })
  }

  start(): void {
    this.#worker.onFree = () => this.#loop.wake()
    this.#worker.start()
    this.#loop.start()
  }

  /** Claims nothing more. Runs in progress continue. */
  async stop(): Promise<void> {
    this.#worker.stop()
    await this.#loop.stop()
  }

  /** @returns true when more may wait that the worker could take */
  async #claimSome(): Promise<boolean> {
    const free = Math.min(this.#worker.freeSlots, MAX_CLAIMS)
    if (free <= 0) return false
    const limit = free + SPARE + this.#passed
    const waiting = await this.#queue.waiting(limit)
    const fit = waiting.filter((run) => this.#worker.canRun(run))
    this.#passed = waiting.length - fit.length
    await Promise.all(fit.slice(0, free).map((run) => this.#worker.takeUp(run)))
    return fit.length > 0 || waiting.length === limit
  }
}
