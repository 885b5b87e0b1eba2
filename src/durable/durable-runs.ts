import { getOrAdd } from '../get-or-add.ts'
import { type AgentHost, START_MADE, VISITS } from '../host/host.ts'
import type { Reservation } from '../host/reservation.ts'
import type { Sees } from '../host/visits.ts'
import { nowSeconds } from '../now-seconds.ts'
import type { Log } from '../protocols/log.ts'
import type { Turn } from '../run/turn.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RecordSealing } from '../store/sealing.ts'
import { indexIdOf, listTenants } from '../store/tenant-records.ts'
import { Approvals } from './approvals/approvals.ts'
import { type DecidedCalls, nextAfterDecisions } from './continuation/after-decisions.ts'
import type { NextRun, SightRules } from './continuation/next.ts'
import { ConversationStore } from './conversations/conversation-store.ts'
import type { HistoryLimits } from './conversations/history-budget.ts'
import { Deciding } from './decisions/deciding.ts'
import { startTaken, type Taken } from './decisions/start-taken.ts'
import { RequestRepeated } from './decisions/until-claimed.ts'
import { IdempotentRequests } from './idempotency/idempotent-requests.ts'
import { RunQueue } from './queue/run-queue.ts'
import type { OutageLog } from './recovery/outage-log.ts'
import { RunRecovery } from './recovery/run-recovery.ts'
import { SeenRecords } from './rows/seen-records.ts'
import { tenantPart } from './rows/tenant-part.ts'
import { ignoreUnreadable, UnreadableRows } from './rows/unreadable-rows.ts'
import { admit, withKey } from './runs/admit.ts'
import { DurableRun, type DurableRunOptions } from './runs/durable-run.ts'
import { followRun, readEnded, type StepLog } from './runs/read-run.ts'
import { type RunIds, uuidOf } from './runs/run-ids.ts'
import type { Draft } from './runs/run-row.ts'
import { RunStore, type StoredRun } from './runs/run-store.ts'
import { StepFeed } from './runs/step-feed.ts'
import { endUnstored } from './runs/steps.ts'
import { Outbox, type Webhooks } from './webhooks/outbox.ts'

export interface DurableRunsOptions {
  /** The whole store. */
  readonly records: RecordStore
  readonly ids: RunIds
  /** Days after which a run is removed; undefined keeps all. */
  readonly retentionDays: number | undefined
  /** Number of runs that may wait for a worker. */
  readonly maxQueuedRuns: number
  readonly host: AgentHost
  readonly limits: HistoryLimits
  /** Seals what clients keep. */
  readonly sealing: RecordSealing
  readonly log: Log
  /** Webhooks at this moment; undefined where there are never any. */
  readonly webhooks?: Webhooks | undefined
  /** Called when a run of this process is stored, or was stored before. `runId` is its own id: the row may have another. */
  readonly onStored?: ((id: string, tenant: string, runId: string) => void) | undefined
}

/** Parts that the runs of all tenants share. */
interface Shared {
  readonly options: DurableRunsOptions
  readonly queue: RunQueue
  readonly claiming: Set<string>
  readonly tenants: Map<string, DurableRuns>
  readonly recovery: RunRecovery
  /** Worker of this process; undefined where background runs are left to others. */
  worker?: NextStarter
}

/** Begins runs in this process. */
export interface NextStarter {
  /** @returns false where there is no slot for it */
  beginNext(tenant: string, next: NextRun): Promise<boolean>
}

/** Seals JSON values for clients, and opens them again: undefined for anything that was not sealed for the same names. */
export interface ClientSeal {
  seal(value: unknown): string
  open(sealed: string): unknown
}

/** Runs of one tenant that outlive their requests: those of this process, and all that the store has. Nothing of another tenant exists here. */
export class DurableRuns {
  /** '' for the nameless one. */
  readonly tenant: string
  /** Part of the store. */
  readonly records: RecordStore
  readonly store: RunStore
  readonly requests: IdempotentRequests
  readonly approvals: Approvals
  readonly deciding: Deciding
  readonly conversations: ConversationStore
  /** Rows that lists leave out. */
  readonly unreadable: UnreadableRows
  readonly #shared: Shared
  readonly #feed: StepFeed
  readonly #runs: Map<string, DurableRun>
  readonly #sees: Sees | undefined
  readonly #views = new WeakMap<Sees, DurableRuns>()

  /** @param view the runs that this one is a view of, and what it shows of them */
  private constructor(
    tenant: string,
    options: DurableRunsOptions,
    shared?: Shared,
    view?: { readonly of: DurableRuns; readonly sees: Sees },
  ) {
    const { log } = options
    const all = tenantPart(options.records, tenant)
    const records = view ? new SeenRecords(all, view.sees) : all
    this.#runs = view ? view.of.#runs : new Map()
    this.#sees = view?.sees
    this.tenant = tenant
    this.records = records
    const outbox = options.webhooks && new Outbox(options.webhooks, tenant)
    this.requests = new IdempotentRequests(records)
    this.approvals = new Approvals(records, tenant, outbox)
    this.conversations = new ConversationStore(records)
    this.store = new RunStore(records, this.approvals, this.conversations, outbox)
    this.deciding = new Deciding({ approvals: this.approvals, goOn: (decided) => this.#goOn(decided), log })
    this.#feed = new StepFeed(records)
    this.unreadable = new UnreadableRows(log)
    this.#shared = shared ?? this.#share(options)
  }

  #share(options: DurableRunsOptions): Shared {
    const queue = new RunQueue(options.records, options.maxQueuedRuns)
    const claiming = new Set<string>()
    const tenants = new Map([['', this]])
    const of = (tenant: string) => this.of(tenant)
    const recovery = new RunRecovery({ ...options, queue, claiming, tenants, of })
    return { options, queue, claiming, tenants, recovery }
  }

  /**
   * Opens the runs of the nameless tenant; `of` has those of the others.
   *
   * @throws HostError `STORE_UNAVAILABLE`
   */
  static async open(options: DurableRunsOptions): Promise<DurableRuns> {
    const runs = new DurableRuns('', options)
    await runs.#shared.recovery.start()
    return runs
  }

  /**
   * Returns the runs of a tenant.
   *
   * @param sees tells whose runs exist; undefined for those of every agent
   */
  of(tenant: string, sees?: Sees): DurableRuns {
    const { tenants, options } = this.#shared
    const runs = getOrAdd(tenants, tenant, () => new DurableRuns(tenant, options, this.#shared))
    if (!sees) return runs
    return getOrAdd(runs.#views, sees, () => new DurableRuns(tenant, options, this.#shared, { of: runs, sees }))
  }

  /**
   * Returns a seal for JSON values that clients of this tenant keep.
   *
   * @param names what is sealed, and for whom
   * @throws HostError `STORE_UNAVAILABLE`
   */
  async clientSeal(...names: readonly string[]): Promise<ClientSeal> {
    const sealing = await this.#shared.options.sealing.open()
    const boundTo = ['client', this.tenant, ...names]
    return {
      seal: (value) => sealing.seal(JSON.stringify(value), boundTo),
      open: (sealed) => {
        const text = sealing.unseal(sealed, boundTo)
        return text === undefined ? undefined : JSON.parse(text)
      },
    }
  }

  /** Returns the tenant of a run; undefined for one that is not stored. */
  async findTenant(id: string): Promise<string | undefined> {
    for (const runs of await this.allTenants()) if (await runs.store.has(id)) return runs.tenant
    return undefined
  }

  /** Returns the runs of every tenant that the store has. */
  async allTenants(): Promise<DurableRuns[]> {
    return (await listTenants(this.#shared.options.records)).map((tenant) => this.of(tenant))
  }

  /** Has runs that go on after decisions begin in this process. */
  attachWorker(worker: NextStarter): void {
    this.#shared.worker = worker
  }

  /** Waiting runs of all tenants. */
  get queue(): RunQueue {
    return this.#shared.queue
  }

  /** Runs that this process takes out of the queue at this moment: recovery leaves them alone. */
  get claiming(): Set<string> {
    return this.#shared.claiming
  }

  /** Runs of this process, by id. */
  get running(): ReadonlyMap<string, DurableRun> {
    return this.#runs
  }

  /**
   * Starts a run of this process. One that must not run twice is stored first.
   *
   * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN`, `STORE_UNAVAILABLE`; `REQUEST_INVALID` for a turn that the agent
   *   does not accept
   * @throws RequestRepeated when another was quicker
   */
  start(made: NextRun, options: Omit<DurableRunOptions, 'origin'>): Promise<DurableRun> {
    const { host } = this.#shared.options
    return admit(host, this.tenant, made.draft.facts, () => this.#start(made, options))
  }

  async #start({ draft: made, turn }: NextRun, options: Omit<DurableRunOptions, 'origin'>): Promise<DurableRun> {
    const { host } = this.#shared.options
    const draft = withKey(host, made)
    const { agent } = draft.facts
    const run = new DurableRun({ origin: draft, ...options })
    if (draft.idempotency || draft.claim) {
      await this.#startClaimed(run, draft, host.reserve(agent, turn.background === true), turn)
    } else {
      if (turn.variant) await host.openVariant(agent, turn.variant)
      run.start((turn) => host[START_MADE](agent, turn), turn)
    }
    // Of any other nothing is in the store, now or later.
    if (options.store || draft.claim) this.follow(run, run.hasStore && (options.persistsSteps || run.isStored))
    return run
  }

  /** Whatever may refuse the start does so before anything is claimed. */
  async #startClaimed(
    run: DurableRun,
    draft: Draft,
    reservation: Reservation,
    turn: Omit<Turn, 'onEvent'>,
  ): Promise<void> {
    this.#runs.set(run.id, run)
    try {
      await reservation.vary(turn.variant)
      reservation.check(turn)
      const taken = run.hasStore ? undefined : await this.#take(draft)
      if (run.hasStore) await run.claim()
      run.start(taken ? startTaken(taken, reservation.start) : reservation.start, turn)
    } catch (error) {
      reservation.release()
      // A claim that has failed may have arrived: it is ended as any run without an owner.
      this.#runs.delete(run.id)
      throw error
    }
  }

  /** A run that is not kept has no row to commit the claim with. */
  async #take({ id, claim, resumes }: Draft): Promise<Taken | undefined> {
    if (!claim || !resumes) return undefined
    const taken = await this.store.take(id, claim, resumes)
    if (!taken) throw new RequestRepeated()
    return taken
  }

  /** Looks after a run of this process that was started. */
  follow(run: DurableRun, isWatched: boolean): void {
    this.#runs.set(run.id, run)
    void this.#whenSettled(run)
    if (this.#shared.options.onStored)
      run.stored.then(
        () => run.isStored && this.noteStored(run.id, uuidOf(run.id)),
        () => {},
      )
    if (isWatched) this.#watchOutcome(run)
  }

  /** Tells that a run of this process is stored. @param runId its own id */
  noteStored(id: string, runId: string): void {
    this.#shared.options.onStored?.(id, this.tenant, runId)
  }

  /**
   * Stores a run that any server may carry out.
   *
   * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `STORE_UNAVAILABLE`; `REQUEST_INVALID` for a turn that the agent does not accept
   * @throws RequestRepeated when another was quicker
   */
  enqueue(made: NextRun): Promise<StoredRun> {
    return admit(this.#shared.options.host, this.tenant, made.draft.facts, () => this.#enqueue(made))
  }

  async #enqueue({ draft: made, turn }: NextRun): Promise<StoredRun> {
    const { host } = this.#shared.options
    const draft = withKey(host, made)
    const { id, facts } = draft
    if (facts.options.variant) await host.openVariant(facts.agent, facts.options.variant)
    host.check(facts.agent, turn)
    await this.queue.refuseWhenFull()
    const quota = await host[VISITS].current?.ticket?.accept(id)
    const stored = await this.#store(quota ? { ...draft, facts: { ...facts, limitedBy: quota.holders } } : draft).catch(
      (error) => {
        quota?.giveBack()
        throw error
      },
    )
    host[VISITS].leave(() => this.queue.onWaiting(indexIdOf({ tenant: this.tenant, id })))
    return stored
  }

  async #store(draft: Draft): Promise<StoredRun> {
    const stored = await this.store.enqueue(draft, this.queue.enqueueChanges(draft.id, draft.facts))
    if (!stored) throw new RequestRepeated()
    return stored
  }

  /** Rules for the conversations that an agent sees. @throws HostError `AGENT_NOT_FOUND` */
  rulesFor(agent: string): SightRules {
    const { host, limits } = this.#shared.options
    return { limits, attachments: host.resolve(agent).capabilities.attachments }
  }

  /** Goes on after decisions: here where a slot is free, otherwise on the next free server. */
  async #goOn(decided: DecidedCalls): Promise<string | null> {
    const made = await nextAfterDecisions(this, decided, this.#shared.options.ids.next())
    if (!made) return null
    const isBegun = await this.#shared.worker?.beginNext(this.tenant, made)
    if (!isBegun) await this.enqueue(made)
    return made.draft.id
  }

  /** Returns the steps of a run, those that are still to come included. */
  read(stored: StoredRun, signal: AbortSignal): StepLog {
    const here = () => this.#runs.get(stored.id)
    return readEnded(stored) ?? followRun(stored, here, () => this.#feed.follow(stored, signal))
  }

  /** Log of the times in which the store cannot be used. */
  get outages(): OutageLog {
    return this.#shared.recovery.outages
  }

  /** Cancels a run on any server; an ended one keeps its steps. Undefined if it does not exist. */
  async cancel(id: string): Promise<StoredRun | undefined> {
    await this.#running(id)?.cancel('The response was cancelled.')
    return this.store.cancel(id)
  }

  /** Ends a run in progress and leaves nothing behind, unless a call may have begun: its client has left without knowing of it. */
  async abandon(run: DurableRun): Promise<void> {
    if (run.hasActed) await run.cancel('The client has left.')
    else if (run.abandon('The client has left.') && run.isStored) await this.#forget(run.id)
  }

  /** @returns false if it does not exist */
  async delete(id: string): Promise<boolean> {
    const run = this.#running(id)
    if (run?.isStored) await run.cancel('The response was deleted.').catch(() => {})
    else await this.#endElsewhere(id)
    return this.#forget(id)
  }

  /** Run of this process, unless its agent does not exist for the visitor. */
  #running(id: string): DurableRun | undefined {
    const run = this.#runs.get(id)
    return run && this.#sees?.(run.facts.agent) === false ? undefined : run
  }

  /** Ends a run of another server: what that one writes at this moment would stay. */
  async #endElsewhere(id: string): Promise<void> {
    const state = await this.store.state(id).catch(ignoreUnreadable)
    if (state && !state.end) await this.store.end(id, { end: 'cancelled', at: nowSeconds() })
  }

  async #forget(id: string): Promise<boolean> {
    await this.conversations.release(id)
    return this.store.delete(id)
  }

  /** Waits until every run of this process, of all tenants, has ended and is stored. */
  async settle(): Promise<void> {
    const runs = [...this.#shared.tenants.values()].flatMap(({ running }) => [...running.values()])
    await Promise.allSettled(runs.map(({ settled }) => settled))
  }

  /** Closes the runs of all tenants. */
  async close(): Promise<void> {
    const { recovery, options } = this.#shared
    await recovery.stop()
    await this.settle()
    await options.records.close()
  }

  async #whenSettled(run: DurableRun): Promise<void> {
    try {
      await run.settled
    } catch (error) {
      if (!(error instanceof RequestRepeated)) this.#shared.recovery.endLater(this.tenant, run, endUnstored())
    } finally {
      this.#runs.delete(run.id)
    }
  }

  #watchOutcome(run: DurableRun): void {
    const unwatch = this.store.watchOutcome(run.id, () => this.#adoptOutcome(run))
    run.settled.then(unwatch, unwatch)
  }

  async #adoptOutcome(run: DurableRun): Promise<void> {
    try {
      const { id, mark } = run
      if (mark !== undefined && (await this.store.filterLost(new Map([[id, mark]]))).length > 0) {
        await run.adoptStoredOutcome()
      }
    } catch {
      // Maintenance looks again every second.
    }
  }
}
