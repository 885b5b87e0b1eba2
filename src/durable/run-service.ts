import { Opening } from '../async.ts'
import { HostError, messageOf } from '../errors.ts'
import { type AgentHost, VISITS } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RecordSealing } from '../store/sealing.ts'
import { isOtherFormat } from '../store/store-format.ts'
import type { HistoryLimits } from './conversations/history-budget.ts'
import { DurableRuns, type DurableRunsOptions } from './durable-runs.ts'
import type { BullDelivery } from './queue/bull-delivery.ts'
import { type DeliveryOptions, openDelivery } from './queue/open-delivery.ts'
import type { QueuePoller } from './queue/queue-poller.ts'
import { RunWorker, type RunWorkerOptions } from './queue/run-worker.ts'
import { ServedAgents } from './queue/served-agents.ts'
import { hasOpenRuns } from './runs/has-open-runs.ts'
import { RUN_PREFIX, RunIds } from './runs/run-ids.ts'
import { FollowedWebhooks } from './webhooks/followed-webhooks.ts'
import { type OpenWebhooks, openWebhooks } from './webhooks/open-webhooks.ts'

/** Options of a project for its durable runs. */
export interface RunLimits extends HistoryLimits, DeliveryOptions {
  /** Days after which stored runs are removed; undefined keeps them. */
  readonly retentionDays?: number | undefined
  /** Number of background runs that may wait for a slot. */
  readonly maxQueuedRuns: number
  /** Leaves background runs to other processes that share the store. */
  readonly noWorker: boolean
  /** Allows webhooks at addresses that are not public. */
  readonly webhookAllowPrivate: boolean
}

export interface RunServiceOptions extends Pick<RunWorkerOptions, 'describeFailure' | 'onFailure'> {
  readonly limits: RunLimits
  readonly host: AgentHost
  readonly log: Log
  /** Tells whether the store exists: the first use of an embedded one creates it. */
  readonly hasStore: () => boolean
  /** True for a store of several servers: each continues the runs of servers that have ended. */
  readonly isShared: boolean
  /** Opens the store; the service closes it. */
  readonly openRecords: () => Promise<RecordStore>
  readonly sealing: RecordSealing
  /** See {@link DurableRunsOptions.onStored}. */
  readonly onStored?: DurableRunsOptions['onStored']
}

interface Opened {
  readonly runs: DurableRuns
  /** Delivers queued runs to the worker of this process. */
  readonly delivery: QueuePoller | BullDelivery
  /** Sends events to the webhooks of the project. */
  readonly webhooks: OpenWebhooks
}

/**
 * The durable runs of a project, with the worker and the recovery that belong to them. Opened when it is first used, or by a server
 * that finds runs to go on with, and tried again when that has failed.
 */
export class RunService {
  /** Makes the ids of runs. */
  readonly ids = new RunIds(RUN_PREFIX)
  readonly webhooks: FollowedWebhooks
  /** Describes the failure of a run for clients. */
  readonly describeFailure: RunServiceOptions['describeFailure']
  /** Limits of the project. */
  readonly limits: RunLimits
  readonly #options: RunServiceOptions
  /** Its clocks outlive the request that opens it. */
  readonly #opening = new Opening(() => this.#options.host[VISITS].leave(() => this.#open()))
  #resuming: Promise<unknown> | undefined
  #isClosed = false

  constructor(options: RunServiceOptions) {
    this.#options = options
    this.describeFailure = options.describeFailure
    this.limits = options.limits
    this.webhooks = new FollowedWebhooks(options.limits.projectDir, options.log)
  }

  /**
   * Opens the service; a further call waits for the first.
   *
   * @returns the runs of the nameless tenant; `of` has those of the others
   * @throws HostError `STORE_UNAVAILABLE`, `OPTION_INVALID`, `SHUTTING_DOWN`
   */
  async open(): Promise<DurableRuns> {
    if (this.#isClosed) throw new HostError('SHUTTING_DOWN', 'The server shuts down.')
    return (await this.#opening.open()).runs
  }

  /**
   * Opens the service if the store is shared, or has runs to go on with: queued, in progress, or waiting for a person. Opens nothing on
   * a server that leaves background runs to others. A store that does not answer is logged: its next use tries again.
   *
   * @throws HostError `STORE_UNAVAILABLE` for a store of another format
   */
  async resume(): Promise<void> {
    const { limits, hasStore, isShared, log } = this.#options
    if (limits.noWorker || this.#opening.isBegun || !hasStore()) return
    this.#resuming ??= isShared ? this.open() : this.#openIfNeeded()
    try {
      await this.#resuming
    } catch (error) {
      if (isOtherFormat(error)) throw error
      log.error(`Stored runs do not continue until the store is used again: ${messageOf(error)}`)
    }
  }

  async #openIfNeeded(): Promise<void> {
    const records = await this.#options.openRecords()
    try {
      if ((await hasOpenRuns(records)) && !this.#isClosed) await this.open()
    } finally {
      await records.close()
    }
  }

  /** True where there is a store: its first use would make an embedded one. */
  get hasStore(): boolean {
    return this.#options.hasStore()
  }

  /** @throws Error before it is open */
  get opened(): DurableRuns {
    const { opened } = this.#opening
    if (!opened) throw new Error('The durable runs are not open yet.')
    return opened.runs
  }

  /**
   * Fails while the store does not answer.
   *
   * @throws HostError `STORE_UNAVAILABLE`
   */
  async checkReady(): Promise<void> {
    await this.opened.store.has('probe')
  }

  /** Logs once that the store cannot be used. @returns false for an error that has another cause */
  noteOutage(error: unknown): boolean {
    return this.#opening.opened?.runs.outages.note(error) ?? false
  }

  /** Claims nothing more, waits until every run of this process is stored, and closes the store. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#resuming?.catch(() => {})
    const opened = await this.#opening.whenOpen()
    await opened?.delivery.stop()
    // The next server tells of runs that end at this moment.
    await opened?.webhooks.stop()
    this.webhooks.close()
    await opened?.runs.close()
  }

  async #open(): Promise<Opened> {
    const { ids, limits, webhooks: hooks } = this
    const { retentionDays, maxQueuedRuns, noWorker } = limits
    const records = await this.#options.openRecords()
    const webhooks = await openWebhooks(records, { hooks, log: this.#options.log, ...limits })
    let open: Pick<RecordStore, 'close'> = records
    try {
      const more = { records, ids, webhooks: hooks, retentionDays, maxQueuedRuns }
      const runs = await DurableRuns.open({ ...this.#options, ...more })
      open = runs
      const delivery = await this.#openDelivery(runs)
      if (!noWorker) delivery.start()
      return { runs, delivery, webhooks }
    } catch (error) {
      await webhooks.stop()
      await open.close()
      throw error
    }
  }

  #openDelivery(runs: DurableRuns): Promise<Opened['delivery']> {
    const { host, limits } = this.#options
    const onFailure: RunServiceOptions['onFailure'] = (error, id) => {
      if (id !== undefined || !runs.outages.note(error)) this.#options.onFailure(error, id)
    }
    const served = new ServedAgents(runs.queue, (agent) => host.has(agent))
    const worker = new RunWorker({ ...this.#options, runs, served, onFailure })
    if (!limits.noWorker) runs.attachWorker(worker)
    return openDelivery(runs.queue, worker, limits)
  }
}
