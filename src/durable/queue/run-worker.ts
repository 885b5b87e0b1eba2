import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Reservation } from '../../host/reservation.ts'
import type { Message } from '../../protocols/message.ts'
import { type Continuation, toTurn } from '../decisions/next-run.ts'
import type { DurableRuns } from '../durable-runs.ts'
import { DamagedRow, damagedRow } from '../rows/parse-row.ts'
import { DurableRun } from '../runs/durable-run.ts'
import type { PersistedRun } from '../runs/run-row.ts'
import { REASONING } from '../runs/sealed-reasoning.ts'
import { endFailed } from '../runs/steps.ts'
import type { Job } from './job.ts'
import type { ClaimedRun, QueuedRun } from './run-queue.ts'
import type { ServedAgents } from './served-agents.ts'

export interface RunWorkerOptions {
  readonly runs: DurableRuns
  readonly host: AgentHost
  readonly served: ServedAgents
  readonly readMessages: Continuation['readMessages']
  readonly describeFailure: (error: unknown) => string
  /** Takes the failure of a run, or of the work itself (without a run). */
  readonly onFailure: (error: unknown, runId?: string) => void
}

/** Run as it was read before it is claimed. */
interface ReadRun {
  readonly stored: PersistedRun
  readonly messages: readonly Message[]
}

/** Worker as those see it who give it runs. */
export interface Taker {
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

/** Carries out runs of the queue, as many at once as the host has slots for background runs. */
export class RunWorker implements Taker {
  readonly #options: RunWorkerOptions
  /** Runs that could not be read here, with the time of the attempt: a newer version may have written them. */
  readonly #unreadable = new Map<string, number>()
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
    this.#options.served.start()
  }

  stop(): void {
    this.#options.served.stop()
  }

  canRun({ id, agent }: QueuedRun): boolean {
    const failedMs = this.#unreadable.get(id)
    if (failedMs !== undefined && performance.now() - failedMs < RETRY_UNREADABLE_MS) return false
    const { host, served } = this.#options
    // One that no server can carry out fails here.
    return agent === undefined || host.has(agent) || served.isAbandoned(id)
  }

  async takeUp(waiting: QueuedRun): Promise<DurableRun | undefined> {
    const { queue, claiming } = this.#options.runs
    const { id } = waiting
    const place = this.#reserve(waiting)
    if (!place) return undefined
    claiming.add(id)
    try {
      const job = await queue.readJob(waiting)
      if (!job) return void (await queue.forget(waiting))
      const refusal = await varyPlace(place, job)
      const stored = await this.#read(waiting, job)
      const claimed = await queue.claim(waiting, job)
      return claimed && (await this.#begin(claimed, stored, refusal ?? place))
    } catch (error) {
      if (error instanceof HostError && error.code === 'STORE_UNAVAILABLE') throw error
      this.#options.onFailure(error, id)
      if (!(error instanceof DamagedRow && (await this.#endDamaged(waiting, error))))
        this.#unreadable.set(id, performance.now())
      return undefined
    } finally {
      if (!(place instanceof HostError)) place.release()
      claiming.delete(id)
    }
  }

  /**
   * Keeps a slot and the agent's version, so that nothing refuses the start of a run that was claimed.
   *
   * @returns the error for an agent that does not exist, or a damaged mark; undefined when there is no place
   */
  #reserve({ id, agent }: QueuedRun): Reservation | HostError | undefined {
    if (agent === undefined) return damagedRow(id)
    try {
      return this.#options.host.reserve(agent, true)
    } catch (error) {
      if (error instanceof HostError && error.code === 'AGENT_NOT_FOUND') return error
      return undefined
    }
  }

  /** Reads a run with its conversation before it is claimed: one that cannot be read here waits for a server that can. */
  async #read({ tenant, id }: QueuedRun, job: Job): Promise<ReadRun | undefined> {
    const { runs, readMessages, host } = this.#options
    const stored = await runs.of(tenant).store.load(id)
    // Without the agent nothing is read: it fails.
    const isKnown = stored && host.has(job.agent)
    return stored && { stored, messages: isKnown ? await readMessages(tenant, stored.turn, job) : [] }
  }

  async #begin(
    claimed: ClaimedRun,
    read: ReadRun | undefined,
    place: Reservation | HostError,
  ): Promise<DurableRun | undefined> {
    const { id, tenant, job } = claimed
    const runs = this.#options.runs.of(tenant)
    // Deleted at this moment.
    if (!read) return void (await runs.store.unmark(id))
    const run = await this.#makeRun(claimed, read)
    try {
      if (place instanceof HostError) throw place
      run.start(place.start, toTurn(tenant, read.stored.turn, job, read.messages))
    } catch (error) {
      return void (await this.#fail(claimed, error))
    }
    runs.follow(run, true)
    void this.#whenSettled(run)
    return run
  }

  async #makeRun(claimed: ClaimedRun, { stored }: ReadRun): Promise<DurableRun> {
    const { describeFailure } = this.#options
    const { id, tenant, job, mark } = claimed
    const runs = this.#options.runs.of(tenant)
    const { steps, batches } = await runs.store.readSteps(id)
    const { host } = this.#options
    const isSealed = job.sealsReasoning === true && host.has(job.agent)
    return new DurableRun({
      origin: { owned: { ...stored, mark }, steps, batches, handBack: () => runs.queue.handBack(claimed) },
      store: runs.store,
      persistsSteps: true,
      job,
      describeFailure,
      seal: isSealed ? (await runs.clientSeal(REASONING, host.resolve(job.agent).agent.id)).seal : undefined,
    })
  }

  /**
   * Ends a run of which a record is damaged: no server can ever carry it out.
   *
   * @returns false when its own row is damaged, too
   */
  async #endDamaged({ tenant, id }: QueuedRun, error: DamagedRow): Promise<boolean> {
    const { runs, describeFailure } = this.#options
    try {
      await runs.of(tenant).store.end(id, endFailed(describeFailure(error)))
      return true
    } catch (second) {
      if (second instanceof DamagedRow) return false
      throw second
    }
  }

  /** Ends a run that no agent takes. */
  async #fail({ id, tenant, mark }: ClaimedRun, error: unknown): Promise<void> {
    const { runs, describeFailure, onFailure } = this.#options
    onFailure(error, id)
    await runs.of(tenant).store.end(id, endFailed(describeFailure(error)), mark)
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
async function varyPlace(place: Reservation | HostError, { options }: Job): Promise<HostError | undefined> {
  if (place instanceof HostError) return undefined
  try {
    await place.vary(options.variant)
    return undefined
  } catch (error) {
    if (error instanceof HostError && error.code === 'AGENT_INVALID') return error
    throw error
  }
}
