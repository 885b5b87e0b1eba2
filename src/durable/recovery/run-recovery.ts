import { forEachConcurrent } from '../../async.ts'
import { hasCode, messageOf } from '../../errors.ts'
import { getOrAdd } from '../../get-or-add.ts'
import type { Log } from '../../protocols/log.ts'
import { RecentlyUsed } from '../../recently-used.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { ApprovalExpiry } from '../approvals/approval-expiry.ts'
import type { Deciding } from '../decisions/deciding.ts'
import type { RunQueue } from '../queue/run-queue.ts'
import { type KeptRuns, Retention } from '../retention/retention.ts'
import type { DurableRun } from '../runs/durable-run.ts'
import { listRunning } from '../runs/list-running.ts'
import type { RunIds } from '../runs/run-ids.ts'
import { parseOwner } from '../runs/run-marks.ts'
import { type EndStep, endCutOff, endUnstored } from '../runs/steps.ts'
import { WakeLoop } from '../wake-loop.ts'
import type { Webhooks } from '../webhooks/outbox.ts'
import { OutageLog } from './outage-log.ts'

/** Runs of one tenant. */
interface TenantRuns extends KeptRuns {
  readonly deciding: Deciding
  /** Those of this process, by id. */
  readonly running: ReadonlyMap<string, DurableRun>
}

export interface RunRecoveryOptions {
  /** The whole store. */
  readonly records: RecordStore
  readonly queue: RunQueue
  readonly ids: RunIds
  /** Runs of the tenants that this process has worked for. */
  readonly tenants: ReadonlyMap<string, TenantRuns>
  readonly of: (tenant: string) => TenantRuns
  /** Runs that this process is about to begin. */
  readonly claiming: ReadonlySet<string>
  readonly retentionDays: number | undefined
  readonly webhooks?: Webhooks | undefined
  readonly log: Log
}

const TICK_MS = 1000
/** In ticks. */
const RECOVER_EVERY = 3
const EXPIRE_EVERY = 5

/** Run that its owner left behind. */
interface Orphan {
  readonly tenant: string
  /** Undefined for one that may never have been stored. */
  readonly mark: string | undefined
  readonly end: EndStep
}

/**
 * Work on stored runs that no request asks for: puts those left behind back into the queue, or ends them, ends those that could not
 * be stored, and has approvals expire and old runs removed.
 */
export class RunRecovery {
  readonly outages: OutageLog
  readonly #options: RunRecoveryOptions
  readonly #approvals: ApprovalExpiry
  readonly #retention: Retention
  readonly #unended = new Map<string, Orphan>()
  /** Runs that failed with an error of their own: reported once. */
  readonly #reported = new RecentlyUsed<true>({ maxItems: 10_000 })
  readonly #loop: WakeLoop
  readonly #report = (error: unknown): void => {
    if (this.outages.note(error)) return
    this.#options.log.error(`Maintenance of the stored responses failed: ${messageOf(error)}`)
  }
  #ticks = 0

  constructor(options: RunRecoveryOptions) {
    this.#options = options
    this.outages = new OutageLog(options.log)
    this.#approvals = new ApprovalExpiry(options.records, (tenant) => options.of(tenant).deciding)
    const report = this.#report
    this.#retention = new Retention(options, { forEach: (ids, work) => this.#forEach(ids, work), report })
    this.#loop = new WakeLoop({ everyMs: TICK_MS, look: () => this.#work(), onFailure: report })
  }

  /** Ends the runs of servers that have died, and begins to look after the rest. */
  async start(): Promise<void> {
    await this.recover()
    this.#loop.start()
    this.#retention.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#retention.stop()])
  }

  /** Ends a run of this process, or puts it back, as soon as the store can be written again. */
  endLater(tenant: string, { id, mark }: DurableRun, end: EndStep): void {
    this.#unended.set(id, { tenant, mark, end })
  }

  /**
   * Ends or restarts abandoned runs, whatever their rows say: those of dead servers, and our own whose first
   * write arrived after we had given it up.
   */
  async recover(): Promise<void> {
    const { claiming, records, log } = this.#options
    const alive = new Map<string, Promise<boolean>>()
    const isAlive = (server: string) => getOrAdd(alive, server, () => records.isServerAlive(server))
    const orphans = new Map<string, Orphan>()
    // Taken before the query: a run of this server that ends during it is still in the answer.
    const begun = new Set([...this.#running().map(({ id }) => id), ...claiming])
    for (const { tenant, id, mark } of await listRunning(records)) {
      const { server } = parseOwner(mark)
      const isOwn = server === records.serverId
      const isBegun = begun.has(id) || this.#options.of(tenant).running.has(id) || claiming.has(id)
      if (isOwn && !isBegun) orphans.set(id, { tenant, mark, end: endUnstored() })
      else if (server === undefined || !(isOwn || (await isAlive(server))))
        orphans.set(id, { tenant, mark, end: endCutOff() })
    }
    let retried = 0
    const ended = await this.#forEach([...orphans.keys()], async (id) => {
      const orphan = orphans.get(id)
      if (orphan && (await this.#release(id, orphan))) retried++
    })
    this.outages.end()
    const failed = ended - retried
    if (failed > 0) log.warn(`Interrupted responses that have failed now: ${failed}`)
    if (retried > 0) log.warn(`Interrupted background responses that are restarted: ${retried}`)
  }

  /** @returns true when it begins again */
  async #release(id: string, { tenant, mark, end }: Orphan): Promise<boolean> {
    const { queue } = this.#options
    const { store } = this.#options.of(tenant)
    if (mark !== undefined && (await queue.retry({ tenant, id }, mark))) return true
    // Otherwise only its mark was stored, or removed.
    if (!(await store.end(id, end, mark))) await store.unmark(id)
    return false
  }

  async #work(): Promise<boolean> {
    const ticks = ++this.#ticks
    await this.#endUnended().catch(this.#report)
    await this.#adoptStoredOutcomes().catch(this.#report)
    if (ticks % RECOVER_EVERY === 0) await this.recover().catch(this.#report)
    if (ticks % EXPIRE_EVERY === 0) await this.#approvals.sweep().catch(this.#report)
    return false
  }

  async #endUnended(): Promise<void> {
    await this.#forEach([...this.#unended.keys()], async (id) => {
      const orphan = this.#unended.get(id)
      if (orphan) await this.#release(id, orphan)
      this.#unended.delete(id)
    })
  }

  /** Runs of this process, of all tenants. */
  #running(): DurableRun[] {
    return [...this.#options.tenants.values()].flatMap(({ running }) => [...running.values()])
  }

  /** Another server may have cancelled, deleted or claimed a run of this one. */
  async #adoptStoredOutcomes(): Promise<void> {
    for (const { running, store } of this.#options.tenants.values()) {
      const stored = [...running.values()].flatMap(({ id, mark }) => (mark === undefined ? [] : [[id, mark] as const]))
      if (stored.length === 0) continue
      const lost = await store.filterLost(new Map(stored))
      await this.#forEach(lost, async (id) => running.get(id)?.adoptStoredOutcome())
    }
  }

  /**
   * Works on each of the runs. One that cannot be read or changed holds up none of the others; a store that cannot be
   * reached does.
   *
   * @returns the number of those that succeeded
   */
  async #forEach(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<number> {
    let succeeded = 0
    await forEachConcurrent(ids, async (id) => {
      try {
        await work(id)
        succeeded++
      } catch (error) {
        if (hasCode(error, 'STORE_UNAVAILABLE')) throw error
        this.#unended.delete(id)
        if (!this.#reported.get(id)) this.#report(error)
        this.#reported.set(id, true)
      }
    })
    return succeeded
  }
}
