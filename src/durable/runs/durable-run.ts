import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Deferred, deferred, rejectQuietly, settlesWithin } from '../../async.ts'
import { causesOf, clientCodeOf, HostError, hasCode, messageOf } from '../../errors.ts'
import { nowSeconds } from '../../now-seconds.ts'
import type { RunEvent, RunEventSink } from '../../run/run-event.ts'
import type { RunHandle, RunResult, Turn } from '../../run/turn.ts'
import { UserForgotten } from '../../store/record-storage.ts'
import { openWaiting } from '../approvals/approvals.ts'
import type { TurnOutcome } from '../conversations/conversation-tree.ts'
import { hasActed } from '../decisions/resumption.ts'
import { RequestRepeated } from '../decisions/until-claimed.ts'
import { ignoreUnreadable } from '../rows/unreadable-rows.ts'
import { BackPressure } from './back-pressure.ts'
import type { StepLog } from './read-run.ts'
import { givenResults } from './read-trail.ts'
import { ANSWER_EVENTS, type RunFacts, type RunOptions } from './run-facts.ts'
import { parseOwner } from './run-marks.ts'
import type { Draft } from './run-row.ts'
import type { OwnedRun, RunStore } from './run-store.ts'
import { ReasoningCollector, type SealReasoning } from './sealed-reasoning.ts'
import {
  type EndStep,
  endFailed,
  endUnstored,
  isEnd,
  isOfCall,
  lengthOf,
  type ResultStep,
  type Step,
  stepOf,
} from './steps.ts'

/** Run that is in the store, and this server's. */
export interface BegunRun {
  readonly owned: OwnedRun
  /** Steps of earlier attempts. */
  readonly steps: readonly Step[]
  /** Number of batches in which these are stored. */
  readonly batches: number
  /**
   * Puts the run back into the queue.
   *
   * @returns false when it must not begin again
   */
  readonly handBack: () => Promise<boolean>
}

export interface DurableRunOptions {
  /** The run as it is about to be stored, or was claimed. */
  readonly origin: Draft | BegunRun
  /** Store of the run; undefined for one that is not kept. */
  readonly store: RunStore | undefined
  /** Stores steps as they come, and not only with the end. */
  readonly persistsSteps: boolean
  /** Keeps the outcome of a run that has no store, for those that continue it. */
  readonly keepsOutcome?: boolean
  readonly describeFailure: (error: unknown) => string
  /** Receives the events, too. */
  readonly onEvent?: RunEventSink | undefined
  /** Seals reasoning for the client; undefined where it asks for none. */
  readonly seal?: SealReasoning | undefined
}

/**
 * A run that outlives its request. What is shown of it is in the store before: steps become visible when they are
 * durable, all that came meanwhile at once. It ends once, however many want to end it.
 */
export class DurableRun implements StepLog {
  readonly id: string
  readonly facts: RunFacts
  /** The first state is stored, where it is kept step by step. Fails when it cannot be, or the request cannot be served. */
  readonly stored: Promise<void>
  /** The run has ended, and that is stored: all its steps. Fails when it cannot be. */
  readonly settled: Promise<readonly Step[]>
  /** Error that the agent threw. */
  failure: unknown = undefined
  readonly #options: DurableRunOptions
  readonly #stored = deferred()
  readonly #settled = deferred<readonly Step[]>()
  readonly #reasoning: ReasoningCollector | undefined
  readonly #shows: NonNullable<RunOptions['shows']>
  /** True for one that took decisions: what becomes of them depends on what it has done. */
  readonly #takesDecisions: boolean
  #handle: RunHandle | undefined
  #steps: Step[] = []
  #ended = false
  #hasBegun = false
  /** Set while the head of a stream waits for the run. */
  #begun: Deferred<void> | undefined
  #isCreating = false
  #isRefused = false
  #isReleased = false
  #outcome: TurnOutcome | undefined
  /** Results of calls of an earlier run that came with the turn. */
  #given: readonly ResultStep[] = []
  #visible = 0
  #persisted: OwnedRun | undefined
  #batches = 0
  #saving = false
  /** Set while a reader waits for the next steps. */
  #change: Deferred<void> | undefined
  #result: Promise<RunResult> | undefined
  /** Undefined where steps are not shown as they come, and stored with the end alone. */
  readonly #pressure: BackPressure | undefined

  constructor(options: DurableRunOptions) {
    const { origin, seal } = options
    const { id, facts, resumes } = 'owned' in origin ? origin.owned.row : origin
    this.#options = options
    this.#reasoning = seal && new ReasoningCollector(seal)
    this.id = id
    this.facts = facts
    this.#takesDecisions = resumes !== undefined
    this.#pressure = options.persistsSteps || this.#takesDecisions ? new BackPressure() : undefined
    this.#shows = this.facts.options.shows ?? ANSWER_EVENTS
    this.stored = this.#stored.promise
    this.settled = this.#settled.promise
    if ('owned' in origin) this.#continue(origin)
  }

  #continue({ owned, steps, batches }: BegunRun): void {
    this.#persisted = owned
    this.#batches = batches
    this.#visible = steps.length
    this.#steps = [...steps]
    if (steps.length > 0) this.#steps.push({ restart: parseOwner(owned.mark).attempt })
    this.#stored.resolve()
  }

  /**
   * Stores the run before its agent starts: of two servers with the same request one runs it.
   *
   * @throws RequestRepeated when another was quicker
   */
  async claim(): Promise<void> {
    try {
      this.#persisted = await this.#options.store?.create(this.#draft, [])
    } catch (error) {
      this.#failToSave(error)
      throw error
    }
    if (!this.#persisted) throw new RequestRepeated()
    this.#stored.resolve()
  }

  /**
   * @param begin starts the run of the agent
   * @throws as `begin`
   */
  start(begin: (turn: Turn) => RunHandle, turn: Omit<Turn, 'onEvent'>): void {
    const { store, onEvent } = this.#options
    this.#given = store && turn.answers ? givenResults(turn) : []
    const take = (event: RunEvent) => this.#take(event)
    this.#handle = begin({ onEvent: onEvent ? (event) => takeBoth(event, take, onEvent) : take, ...turn })
    this.#handle.result.then(
      (result) => this.#complete(result, turn.messages.length),
      (error: unknown) => this.#fail(error),
    )
    // An answer that comes at once is stored once, with its end.
    if (!this.#pressure) return
    if (store) void this.#save()
    else void nextTurn().then(() => this.#stored.resolve())
  }

  #complete(result: RunResult, given: number): void {
    const { usage, incompleteReason, pending } = result
    const incomplete = incompleteReason === undefined ? {} : { incomplete: incompleteReason }
    const { store, keepsOutcome } = this.#options
    if ((store || keepsOutcome) && !this.#ended) {
      const { agent, adapter } = this.facts
      const waiting =
        pending.length === 0 ? [] : openWaiting({ runId: this.id, agent, pending, createdAt: nowSeconds() }, adapter)
      this.#outcome = { messages: result.trail.slice(given), pending, waiting }
    }
    this.#end({ end: 'completed', at: nowSeconds(), usage, ...incomplete })
  }

  #fail(error: unknown): void {
    const { origin } = this.#options
    if (!this.#ended && isShutdown(error) && 'owned' in origin) void this.#handBack(error, origin)
    else this.#endFailed(error)
  }

  /** Puts the run back: the server has no time for it. */
  async #handBack(error: unknown, { handBack }: BegunRun): Promise<void> {
    this.#ended = true
    if (await handBack().catch(() => false)) return this.#release()
    this.#ended = false
    this.#endFailed(error)
  }

  #endFailed(error: unknown): void {
    if (!this.#ended) this.failure = error
    const isRefused = hasCode(error, 'REQUEST_INVALID') || isForgotten(error)
    if (isRefused && !this.#ended) rejectQuietly(this.#stored, error)
    // Nothing is stored of a request that cannot be served, or whose user is forgotten.
    this.#isRefused = isRefused && !this.#persisted && !this.#isCreating
    const code = clientCodeOf(error)
    this.#end({ end: 'failed', at: nowSeconds(), error: this.#describe(error), ...(code ? { code } : {}) })
  }

  /**
   * Waits until something has happened in the run, for so long at most.
   *
   * @throws HostError `REQUEST_INVALID` when the request turned out to be one that cannot be served, `AGENT_FAILED` for a limit of the
   *   model's vendor, and what clients of models know a code for
   */
  async begins(timeoutMs: number): Promise<void> {
    if (!this.#hasBegun) {
      this.#begun ??= deferred()
      await settlesWithin(Promise.race([this.#begun.promise, this.read(0)]), timeoutMs)
    }
    if (!(this.failure instanceof HostError)) return
    if (this.failure.code === 'REQUEST_INVALID' || this.failure.limit || clientCodeOf(this.failure)) throw this.failure
  }

  /**
   * Result of the run, once it is stored. For a run that was started alone.
   *
   * @throws as `RunHandle.result`; HostError `STORE_UNAVAILABLE`
   */
  get result(): Promise<RunResult> {
    this.#result ??= this.#readResult()
    return this.#result
  }

  async #readResult(): Promise<RunResult> {
    const [result, settled] = await Promise.allSettled([this.#handle?.result, this.settled])
    if (settled.status === 'rejected') throw settled.reason
    if (result.status === 'rejected') throw result.reason
    return result.value as RunResult
  }

  /** Name of its agent. */
  get agent(): string {
    return this.facts.agent
  }

  get hasStore(): boolean {
    return this.#options.store !== undefined
  }

  /** True once any of it is in the store. */
  get isStored(): boolean {
    return this.#persisted !== undefined
  }

  /** True once a call may have begun. */
  get hasActed(): boolean {
    return hasActed(this.#steps)
  }

  /** Part that a run which has ended well adds to its conversation. */
  get outcome(): TurnOutcome | undefined {
    return this.#outcome
  }

  /** Mark under which it is in the store; undefined until it is. */
  get mark(): string | undefined {
    return this.#persisted?.mark
  }

  async read(from: number): Promise<readonly Step[]> {
    while (this.#visible <= from && !isEnd(this.#steps[this.#visible - 1]) && !this.#isReleased) {
      await this.#whenChanged()
    }
    return this.#steps.slice(from, this.#visible)
  }

  /** Returns the steps for the client that is answered: the agent waits for it. `leave` lets the agent go on alone. */
  readAsClient(): StepLog & { leave(): void } {
    this.#pressure?.beginTaking()
    let handedOut = 0
    return {
      id: this.id,
      facts: this.facts,
      read: async (from) => {
        this.#pressure?.take(handedOut)
        const steps = await this.read(from)
        handedOut = this.#pressure?.saved ?? 0
        return steps
      },
      leave: () => this.#pressure?.endTaking(),
    }
  }

  // Four ways to end a run early; one that has already ended stays as it is.
  // `cancel`: someone asked for it. The run is stored as cancelled, and keeps the decisions that it took.
  // `abort`: the program that began it gives up, by its handle. Decisions are given back as long as no call may have begun.
  // `breakOff`: the client that waits for the answer has left. As `abort`, but once a call may have begun, the run goes on without its client.
  // `abandon`: as `breakOff`, for a run that took no decision and has called nothing: only that client would know its id. No end is stored.

  /** @returns all steps, once they are stored */
  cancel(reason: string): Promise<readonly Step[]> {
    this.#endEarly({ end: 'cancelled', at: nowSeconds() }, new Error(reason))
    return this.settled
  }

  abort(reason: unknown): void {
    const isBack = this.#takesDecisions && !this.hasActed
    this.#endEarly(isBack ? endFailed(messageOf(reason)) : { end: 'cancelled', at: nowSeconds() }, reason)
  }

  /** @returns false for a run that took no decisions, and for a message that superseded calls and has acted */
  breakOff(reason: string): boolean {
    if (!this.#takesDecisions) return false
    if (this.#ended) return true
    if (this.hasActed) return this.facts.options.answersTo === undefined
    this.#endEarly(endFailed(reason), new Error(reason))
    return true
  }

  #endEarly(end: EndStep, reason: unknown): void {
    this.#end(end)
    this.#handle?.abort(reason)
  }

  /** @returns false when it has ended already */
  abandon(reason: string): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#handle?.abort(new Error(reason))
    this.#release()
    return true
  }

  /**
   * Takes the outcome from the store, because another has ended, deleted or begun the run there. While a write of our own is under way
   * that write decides: a store without ordered reads may show its effect before it returns.
   */
  async adoptStoredOutcome(): Promise<void> {
    if (!this.#saving) await this.#adopt()
  }

  async #adopt(): Promise<void> {
    if (this.#isReleased || isEnd(this.#steps[this.#visible - 1])) return
    this.#ended = true
    this.#handle?.abort(new Error('The run was ended by another request.'))
    // One that cannot be read is as good as deleted for those who wait for it.
    const stored = await this.#options.store?.get(this.id).catch(ignoreUnreadable)
    if (stored && !isEnd(stored.steps.at(-1))) return this.#release()
    const visible = this.#steps.slice(0, this.#visible)
    this.#steps = isEnd(stored?.steps.at(-1))
      ? [...(stored?.steps ?? [])]
      : [...visible, { end: 'cancelled', at: nowSeconds() }]
    this.#settle()
  }

  /** Nothing more of the run is read here: it continues elsewhere, or was abandoned. */
  #release(): void {
    this.#isReleased = true
    this.#steps = this.#steps.slice(0, this.#visible)
    this.#settle()
  }

  #describe(error: unknown): string {
    if (hasCode(error, 'RUN_ABORTED')) {
      const { cause } = error
      if (hasCode(cause, 'RUN_TIMEOUT')) return cause.message
      return 'The server shut down before the response was complete'
    }
    return this.#options.describeFailure(error)
  }

  #take(event: RunEvent): void | Promise<void> {
    if (event.type !== 'end') {
      this.#hasBegun = true
      this.#begun?.resolve()
    }
    const sealed = this.#reasoning?.take(event)
    if (sealed !== undefined) void this.#add({ sealed })
    const step = this.#toStep(event)
    if (step === undefined) return undefined
    if (event.type === 'tool_call') this.#tellGiven()
    const room = this.#add(step)
    if (!this.#options.store) return room
    if (event.type === 'tool_call') return this.#confirmCall()
    return this.#isUnsaid ? this.#whenStored(this.#steps.length) : room
  }

  #toStep(event: RunEvent): Step | undefined {
    const step = stepOf(event)
    if (step === undefined || this.#shows.includes(event.type)) return step
    const isKept = this.#options.store && typeof step === 'object' && ('call' in step || 'result' in step)
    return isKept ? { hidden: step } : undefined
  }

  /** The answers that the run was given count from its first call on: until then the calls stay open. */
  #tellGiven(): void {
    for (const hidden of this.#given) void this.#add({ hidden })
    this.#given = []
  }

  /** True for a run of the queue that begins again where its server dies: the agent goes on once something of it is stored. */
  get #isUnsaid(): boolean {
    return 'owned' in this.#options.origin && this.#visible === 0
  }

  /** A call begins once it is stored. */
  async #confirmCall(): Promise<void> {
    await this.#whenStored(this.#steps.length)
    if (this.#ended) throw new Error('The run has ended.')
  }

  async #whenStored(count: number): Promise<void> {
    while (this.#visible < count && !this.#ended) await this.#whenChanged()
  }

  #add(step: Step): void | Promise<void> {
    if (this.#ended) return
    this.#steps.push(step)
    const { store } = this.#options
    this.#pressure?.produce(lengthOf(step))
    if (store && (this.#pressure || isOfCall(step))) void this.#save()
    else if (this.#pressure) this.#show(this.#steps.length)
    return this.#pressure?.waitForRoom()
  }

  #end(step: EndStep): void {
    if (this.#ended) return
    this.#ended = true
    this.#steps.push(step)
    if (this.#options.store && !this.#isRefused) void this.#save()
    else this.#settle()
  }

  /** One write at a time; steps that arrive meanwhile go with the next. */
  async #save(): Promise<void> {
    if (this.#saving) return
    this.#saving = true
    try {
      // Not at once: an agent that answers without waiting for anything is stored once, with its end.
      if (this.#pressure || !this.#ended) await nextTurn()
      if (this.#isRefused || this.#isReleased) return
      while (!this.#persisted || this.#visible < this.#steps.length) {
        const upTo = this.#steps.length
        const isSaved = await this.#saveUpTo(upTo)
        if (!isSaved && !this.#persisted) throw new RequestRepeated()
        if (!isSaved) return void (await this.#adopt())
        if (isEnd(this.#steps[upTo - 1])) return this.#settle()
        this.#show(upTo)
      }
    } catch (error) {
      this.#failToSave(error)
    } finally {
      this.#saving = false
    }
  }

  async #saveUpTo(upTo: number): Promise<boolean> {
    const { store } = this.#options
    if (!store) return true
    if (!this.#persisted) {
      this.#isCreating = true
      this.#persisted = await store.create(this.#draft, this.#steps.slice(0, upTo), this.#outcome)
      this.#batches = upTo > 0 ? 1 : 0
      if (this.#persisted) this.#stored.resolve()
      return this.#persisted !== undefined
    }
    if (!isEnd(this.#steps[upTo - 1]))
      return store.append(this.#persisted, this.#batches++, this.#steps.slice(this.#visible, upTo))
    const steps = this.#steps.slice(0, upTo)
    return store.finish(this.#persisted, { steps, batches: this.#batches, outcome: this.#outcome })
  }

  get #draft(): Draft {
    return this.#options.origin as Draft
  }

  /** Whatever cannot be stored is not shown as done. */
  #failToSave(error: unknown): void {
    this.#ended = true
    this.#handle?.abort(error)
    this.#steps = [...this.#steps.filter((step) => !isEnd(step)), endUnstored()]
    this.#show(this.#steps.length)
    rejectQuietly(this.#stored, error)
    rejectQuietly(this.#settled, error)
  }

  #settle(): void {
    this.#show(this.#steps.length)
    this.#settled.resolve(this.#steps)
  }

  #show(upTo: number): void {
    this.#visible = upTo
    this.#pressure?.save()
    const change = this.#change
    this.#change = undefined
    change?.resolve()
  }

  #whenChanged(): Promise<void> {
    this.#change ??= deferred()
    return this.#change.promise
  }
}

async function takeBoth(event: RunEvent, ...sinks: readonly RunEventSink[]): Promise<void> {
  await Promise.all(sinks.map((take) => take(event)))
}

function isForgotten(error: unknown): boolean {
  return causesOf(error).some((cause) => cause instanceof UserForgotten)
}

function isShutdown(error: unknown): boolean {
  if (!hasCode(error, 'RUN_ABORTED')) return false
  return hasCode(error.cause, 'SHUTTING_DOWN')
}
