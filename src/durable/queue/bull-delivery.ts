import type { Job, Queue, Worker } from 'bullmq'
import { settlesWithin } from '../../async.ts'
import { isDemoted } from '../../store/redis/is-demoted.ts'
import { indexIdOf } from '../../store/tenant-records.ts'
import { WakeLoop } from '../wake-loop.ts'
import type { RunQueue } from './run-queue.ts'
import type { Claimer } from './run-worker.ts'

export type BullPackage = Pick<typeof import('bullmq'), 'Queue' | 'Worker' | 'DelayedError'>

/** Name of the queue in dashboards. */
const NAME = 'agent-host'
/** Time without a sign of life after which BullMQ gives a job to another worker. */
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 3000
/** Interval at which runs missing from BullMQ are added again: a crash may have separated the two. */
const SWEEP_MS = 5000
const MAX_SWEPT = 500
/** Delay before the next attempt at a job that this worker cannot take, or at Redis after a failure. */
const RETRY_MS = 1000
const REPORT_EVERY_MS = 60_000
/** Time that BullMQ gets to close. */
const CLOSE_TIMEOUT_MS = 5000

export interface BullDeliveryOptions {
  readonly bull: BullPackage
  /** Of Redis; `prefix` is an option of it. */
  readonly url: string
  readonly queue: RunQueue
  readonly worker: Claimer
  /** Runs at once. */
  readonly concurrency: number
}

/**
 * Delivers queued runs to workers through BullMQ. A job holds only the id of a run; the store decides which runs wait. So a job that
 * is delivered twice, late or never does no harm.
 */
export class BullDelivery {
  readonly #options: BullDeliveryOptions
  readonly #jobs: Queue
  #worker: Worker | undefined
  readonly #sweeps: WakeLoop
  #silentUntilMs = 0

  constructor(options: BullDeliveryOptions) {
    const { bull, url, queue } = options
    this.#options = options
    this.#jobs = new bull.Queue(NAME, connect(url))
    // Callers get the failures; it reconnects by itself.
    this.#jobs.on('error', () => {})
    this.#sweeps = new WakeLoop({
      everyMs: SWEEP_MS,
      look: () => this.#sweep(),
      onFailure: (error) => this.#report(error),
    })
    queue.onWaiting = (name) => void this.#offer([name])
  }

  start(): void {
    const { bull, url, concurrency, worker } = this.#options
    worker.start()
    this.#worker = new bull.Worker(NAME, (job: Job, token?: string) => this.#carryOut(job, token), {
      ...connect(url),
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      runRetryDelay: RETRY_MS,
    })
    this.#worker.on('error', (error) => this.#report(error))
    this.#sweeps.start()
  }

  /** Takes no more jobs, and waits for the runs of those that it has. */
  async stop(): Promise<void> {
    this.#options.worker.stop()
    // While Redis is down they wait for it: nothing is lost without, since the store has all.
    await settlesWithin(Promise.all([this.#sweeps.stop(), this.#worker?.close(), this.#jobs.close()]), CLOSE_TIMEOUT_MS)
  }

  /** Reports a failed connection, at most once per interval: BullMQ keeps reconnecting. */
  #report(error: unknown): void {
    const nowMs = performance.now()
    if (nowMs < this.#silentUntilMs) return
    this.#silentUntilMs = nowMs + REPORT_EVERY_MS
    this.#options.worker.report(error)
  }

  async #carryOut(job: Job, token: string | undefined): Promise<void> {
    const { queue, worker, bull } = this.#options
    const waiting = await queue.find(job.id as string)
    // Taken, ended or deleted: when it waits again, there is another job.
    if (!waiting) return
    if (worker.freeSlots === 0 || !worker.canRun(waiting)) {
      await job.moveToDelayed(Date.now() + RETRY_MS, token)
      throw new bull.DelayedError()
    }
    const run = await worker.takeUp(waiting)
    await run?.settled.catch(() => {})
  }

  async #sweep(): Promise<boolean> {
    const waiting = await this.#options.queue.waiting(MAX_SWEPT)
    await this.#offer(waiting.map(indexIdOf))
    return false
  }

  /** Adds a job; an existing one with that id stays as it is. */
  async #offer(names: readonly string[]): Promise<void> {
    const removal = { removeOnComplete: true, removeOnFail: true }
    try {
      await this.#jobs.addBulk(names.map((jobId) => ({ name: 'run', data: {}, opts: { jobId, ...removal } })))
    } catch (error) {
      // The next sweep makes up for it.
      this.#report(error)
    }
  }
}

function connect(text: string) {
  const url = new URL(text)
  const prefix = url.searchParams.get('prefix') ?? 'agent-host'
  url.searchParams.delete('prefix')
  // 2: what a demoted server refused is sent again to the one that took its place.
  const reconnectOnError = (error: Error) => isDemoted(error) && 2
  const connection = { url: url.href, maxRetriesPerRequest: null, reconnectOnError }
  return { connection, prefix: `{${prefix}}:bull` }
}
