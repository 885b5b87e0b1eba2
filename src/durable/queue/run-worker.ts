import { HostError, hasCode } from '../../errors.ts'
import { type AgentHost, VISITS } from '../../host/host.ts'
import type { Reservation } from '../../host/reservation.ts'
import { RecentlyUsed } from '../../recently-used.ts'
import type { Turn } from '../../run/turn.ts'
import type { TenantItem } from '../../store/tenant-records.ts'
import type { NextRun } from '../continuation/next.ts'
import { readNext } from '../continuation/read-next.ts'
import type { HistoryLimits } from '../conversations/history-budget.ts'
import { RequestRepeated } from '../decisions/until-claimed.ts'
import type { DurableRuns } from '../durable-runs.ts'
import { DamagedRow, damagedRow, undefinedIfDamaged } from '../rows/parse-row.ts'
import { admit } from '../runs/admit.ts'
import { DurableRun } from '../runs/durable-run.ts'
import type { RunFacts } from '../runs/run-facts.ts'
import type { PersistedRun } from '../runs/run-row.ts'
import type { StoredRun } from '../runs/run-store.ts'
import { REASONING } from '../runs/sealed-reasoning.ts'
import { endFailed } from '../runs/steps.ts'
import type { StoredSteps } from '../runs/stored-steps.ts'
import type { ClaimedRun, QueuedRun } from './run-queue.ts'
import type { ServedAgents } from './served-agents.ts'

export interface RunWorkerOptions {
  readonly runs: DurableRuns
  readonly host: AgentHost
  readonly served: ServedAgents
  readonly limits: HistoryLimits
  readonly describeFailure: (error: unknown) => string
  /** Takes the failure of a run, or of the work itself (without a run). */
  readonly onFailure: (error: unknown, runId?: string) => void
}

/** Run as it was read before it is claimed. */
interface ReadRun {
  readonly stored: PersistedRun
  /** Undefined without a place: then it fails. */
  readonly turn: Turn | undefined
  /** True for one that was stored at this moment, by this server. */
  readonly isNew?: boolean
}

/** Worker as those see it who give it runs. */
export interface Claimer {
  /** Called when a run has ended, and its slot is free. */
  onFree: () => void
  /** Called before the first run is given to it, and after the last. */
  start(): void
  stop(): void
  /** Number of runs that could begin now. */
  readonly freeSlots: number
  canRun(waiting: QueuedRun): boolean
  /**
   * Claims a run and begins it.
   *
   * @returns undefined when another was quicker, or it cannot be begun here
   * @throws HostError `STORE_UNAVAILABLE`
   */
  takeUp(waiting: QueuedRun): Promise<{ readonly settled: Promise<unknown> } | undefined>
  /** Takes a failure that is not of one run. */
  report(error: unknown): void
}

/** Time after which a run that could not be read is tried again. */
const RETRY_UNREADABLE_MS = 60_000
const FIRST_ATTEMPT = 1
const NO_STEPS: StoredSteps = Object.freeze({ steps: [], batches: 0 })

/** Carries out runs of the queue, as many at once as the host has slots for background runs. */
export class RunWorker implements Claimer {
  readonly #options: RunWorkerOptions
  /** Runs that could not be read here, with the time of the attempt: a newer version may have written them. */
  readonly #unreadable = new RecentlyUsed<number>({ maxItems: 10_000 })
  #isStarted = false
  onFree = () => {}

  constructor(options: RunWorkerOptions) {
    this.#options = options
  }

  get freeSlots(): number {
    return this.#options.host.freeBackgroundSlots
  }

  report(error: unknown): void {
    this.#options.onFailure(error)
  }

  start(): void {
    this.#isStarted = true
    this.#options.served.start()
  }

  stop(): void {
    this.#isStarted = false
    this.#options.served.stop()
  }

  canRun({ id, agent }: QueuedRun): boolean {
    const failedMs = this.#unreadable.get(id)
    if (failedMs !== undefined && performance.now() - failedMs < RETRY_UNREADABLE_MS) return false
    const { host, served } = this.#options
    // One that no server can carry out fails here.
    return agent === undefined || host[VISITS].leave(() => host.has(agent)) || served.isAbandoned(id)
  }

  /** A visitor's request may have woken the worker: whose run it is, is for the row to say. */
  takeUp(waiting: QueuedRun): Promise<DurableRun | undefined> {
    return this.#options.host[VISITS].leave(() => this.#takeUp(waiting))
  }

  async #takeUp(waiting: QueuedRun): Promise<DurableRun | undefined> {
    const { queue, claiming } = this.#options.runs
    const { id } = waiting
    const place = this.#reserve(waiting)
    if (!place) return undefined
    claiming.add(id)
    try {
      const read = await this.#read(waiting, place)
      if (!read) return void (await queue.forget(waiting))
      const { facts } = read.stored.row
      const refusal = await varyPlace(place, facts)
      const claimed = await queue.claim(waiting, facts)
      return claimed && (await this.#beginFor(claimed, read, refusal ?? place))
    } catch (error) {
      if (hasCode(error, 'STORE_UNAVAILABLE')) throw error
      this.#options.onFailure(error, id)
      // No server can ever carry out a run of which a record is damaged, but its own row may be, too.
      const isEnded =
        error instanceof DamagedRow && (await this.#endFailed(waiting, error).catch(undefinedIfDamaged)) !== undefined
      if (!isEnded) this.#unreadable.set(id, performance.now())
      return undefined
    } finally {
      if (!(place instanceof HostError)) place.release()
      claiming.delete(id)
    }
  }

  /**
   * Stores a run and begins it at once.
   *
   * @returns false where there is no slot: it can be queued
   * @throws RequestRepeated when another was quicker; HostError for a turn that the agent does not accept: then nothing is stored
   */
  async beginNext(tenant: string, made: NextRun): Promise<boolean> {
    return admit(this.#options.host, tenant, made.draft.facts, () => this.#beginNext(tenant, made))
  }

  async #beginNext(tenant: string, { draft, turn }: NextRun): Promise<boolean> {
    const { runs } = this.#options
    const { id, facts } = draft
    const place = this.#isStarted ? this.#reserve({ id, agent: facts.agent }) : undefined
    if (!place || place instanceof HostError) return false
    runs.claiming.add(id)
    try {
      await place.vary(facts.options.variant)
      place.check(turn)
      const stored = await runs.of(tenant).store.create(draft, [], undefined, FIRST_ATTEMPT)
      if (!stored) throw new RequestRepeated()
      const { mark } = stored
      await this.#begin({ tenant, id, facts, mark, attempt: FIRST_ATTEMPT }, { stored, turn, isNew: true }, place)
      return true
    } finally {
      place.release()
      runs.claiming.delete(id)
    }
  }

  /**
   * Keeps a slot and the agent's version, so that nothing refuses the start of a run that was claimed.
   *
   * @returns the error for an agent that does not exist, or a damaged mark; undefined when there is no place
   */
  #reserve({ id, agent }: Pick<QueuedRun, 'id' | 'agent'>): Reservation | HostError | undefined {
    if (agent === undefined) return damagedRow(id)
    try {
      return this.#options.host.reserve(agent, true)
    } catch (error) {
      if (hasCode(error, 'AGENT_NOT_FOUND')) return error
      return undefined
    }
  }

  /** Reads a run with its conversation before it is claimed: one that cannot be read here waits for a server that can. */
  async #read({ tenant, id }: QueuedRun, place: Reservation | HostError): Promise<ReadRun | undefined> {
    const { runs, host, limits } = this.#options
    const own = runs.of(tenant)
    const stored = await own.store.load(id)
    if (!stored) return undefined
    if (place instanceof HostError) return { stored, turn: undefined }
    const { attachments } = host.resolve(stored.row.facts.agent).capabilities
    return { stored, turn: await readNext(own, stored, { limits, attachments }) }
  }

  /** Begins a run for the key that it was stored for: that which a trigger or a schedule names, or one with limits. */
  #beginFor(claimed: ClaimedRun, read: ReadRun, place: Reservation | HostError): Promise<DurableRun | undefined> {
    const { key } = claimed.facts
    const begin = () => this.#begin(claimed, read, place)
    return key === undefined ? begin() : this.#options.host[VISITS].enter({ sees: undefined, key }, begin)
  }

  async #begin(claimed: ClaimedRun, read: ReadRun, place: Reservation | HostError): Promise<DurableRun | undefined> {
    const { runs: all, host, onFailure } = this.#options
    const runs = all.of(claimed.tenant)
    const run = await this.#makeRun(claimed, read, runs)
    try {
      if (place instanceof HostError) throw place
      const { limitedBy } = claimed.facts
      // A run counts for those who had it accepted, on whichever server.
      const limiter = limitedBy && (await host[VISITS].openLimiter?.())
      const quota = limitedBy && (await limiter?.resume(limitedBy, claimed.id))
      run.start((turn) => place.start(turn, quota), read.turn as Turn)
    } catch (error) {
      // No agent takes it.
      onFailure(error, claimed.id)
      return void (await this.#endFailed(claimed, error, claimed.mark))
    }
    runs.follow(run, true)
    void this.#whenSettled(run)
    return run
  }

  async #makeRun(claimed: ClaimedRun, { stored, isNew }: ReadRun, runs: DurableRuns): Promise<DurableRun> {
    const { describeFailure, host } = this.#options
    const { id, facts, mark } = claimed
    const { steps, batches } = isNew ? NO_STEPS : await runs.store.readSteps(id)
    const isSealed = facts.options.sealsReasoning === true && host.has(facts.agent)
    return new DurableRun({
      origin: { owned: { ...stored, mark }, steps, batches, handBack: () => runs.queue.handBack(claimed) },
      store: runs.store,
      persistsSteps: true,
      describeFailure,
      seal: isSealed ? (await runs.clientSeal(REASONING, host.resolve(facts.agent).agent.id)).seal : undefined,
    })
  }

  #endFailed({ tenant, id }: TenantItem, error: unknown, mark?: string): Promise<StoredRun | undefined> {
    const { runs, describeFailure } = this.#options
    return runs.of(tenant).store.end(id, endFailed(describeFailure(error)), mark)
  }

  async #whenSettled(run: DurableRun): Promise<void> {
    try {
      await run.settled
      if (run.failure !== undefined) this.#options.onFailure(run.failure, run.id)
    } catch (error) {
      this.#options.onFailure(error, run.id)
    }
    this.onFree()
  }
}

/** @returns the error of a variant that the agent no longer allows */
async function varyPlace(place: Reservation | HostError, { options }: RunFacts): Promise<HostError | undefined> {
  if (place instanceof HostError) return undefined
  try {
    await place.vary(options.variant)
    return undefined
  } catch (error) {
    if (hasCode(error, 'AGENT_INVALID')) return error
    throw error
  }
}
