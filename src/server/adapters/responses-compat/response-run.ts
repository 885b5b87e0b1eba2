import { setImmediate as nextTurn } from 'node:timers/promises'
import { HostError } from '../../../errors.ts'
import type { AgentHost } from '../../../host/host.ts'
import type { Turn as AgentTurn, RunHandle } from '../../../run/agent.ts'
import type { AgentEvent } from '../../../run/call-event.ts'
import { partToText } from '../../part-to-text.ts'
import { uuidOf } from './ids.ts'
import { type EndStep, isEnd, recordAfter, type Step } from './output.ts'
import type { Draft, PersistedRun, ResponseStore } from './response-store.ts'
import type { ResponseRecord } from './schema.ts'

/** Steps of a response, to be read as they come. */
export interface StepLog {
  readonly begun: ResponseRecord
  /** The steps from an index on, at least one; waits for it. None when the log is gone. */
  read(from: number): Promise<readonly Step[]>
}

export interface ResponseRunOptions {
  readonly draft: Draft
  /** Where it is stored; undefined for a response that is not. */
  readonly store: ResponseStore | undefined
  /** Whether its steps are stored as they come, and not only with the end. */
  readonly persistsSteps: boolean
  /** Whether the tools that the agent calls are told of. */
  readonly tellsCalls: boolean
  readonly describeFailure: (error: unknown) => string
}

/** How far an agent may be ahead of the store, and of the client that it answers. */
const MAX_AHEAD_LENGTH = 256 * 1024

/**
 * A response while its agent runs. What anybody sees of it is in the store before: steps become visible when they are
 * durable, all that came meanwhile at once. It ends once, however many want to end it.
 */
export class ResponseRun implements StepLog {
  readonly id: string
  readonly begun: ResponseRecord
  /** The first state is stored. Fails when it cannot be. */
  readonly stored: Promise<void>
  /** It has ended, and that is stored: the record. Fails when it cannot be. */
  readonly settled: Promise<ResponseRecord>
  /** What the agent threw. */
  failure: unknown = undefined
  readonly #options: ResponseRunOptions
  readonly #stored = new Deferred<void>()
  readonly #settled = new Deferred<ResponseRecord>()
  #handle: RunHandle | undefined
  #steps: Step[] = []
  #ended = false
  #visible = 0
  #kept: PersistedRun | undefined
  #batches = 0
  #saving = false
  #change = new Deferred<void>()
  #produced = 0
  #saved = 0
  /** How much of it the client that it answers has taken; undefined when nobody has to. */
  #taken: number | undefined
  #room: Deferred<void> | undefined

  constructor(options: ResponseRunOptions) {
    this.#options = options
    this.begun = options.draft.record
    this.id = this.begun.id
    this.stored = this.#stored.promise
    this.settled = this.#settled.promise
    // Whoever does not ask is not told.
    this.stored.catch(() => {})
    this.settled.catch(() => {})
  }

  /** @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN` */
  start(
    host: AgentHost,
    name: string,
    facts: Pick<AgentTurn, 'messages' | 'instructions' | 'user' | 'metadata'>,
  ): void {
    this.#handle = host.start(name, {
      ...facts,
      runId: uuidOf(this.id),
      onPart: (part) => this.#add(partToText(part)),
      onEvent: this.#options.tellsCalls ? (event) => this.#tellCall(event) : undefined,
    })
    this.#handle.result.then(
      ({ usage, incompleteReason }) => {
        const incomplete = incompleteReason === undefined ? {} : { incomplete: incompleteReason }
        this.#end({ end: 'completed', at: nowSeconds(), usage, ...incomplete })
      },
      (error: unknown) => {
        if (!this.#ended) this.failure = error
        this.#end({ end: 'failed', at: nowSeconds(), error: this.#describe(error) })
      },
    )
    if (this.#options.store && this.#options.persistsSteps) void this.#save()
  }

  /** Whether there is anything of it in the store. */
  get isStored(): boolean {
    return this.#kept !== undefined
  }

  /** The record as it is now. The end is told when it is stored. */
  record(): ResponseRecord {
    return recordAfter(this.begun, this.#steps.slice(0, this.#visible))
  }

  async read(from: number): Promise<readonly Step[]> {
    while (this.#visible <= from && !isEnd(this.#steps[this.#visible - 1])) await this.#change.promise
    return this.#steps.slice(from, this.#visible)
  }

  /** The steps for the client that is answered: the agent waits for it. `leave` lets the agent go on alone. */
  readAsClient(): StepLog & { leave(): void } {
    this.#taken = 0
    let handedOut = 0
    return {
      begun: this.begun,
      read: async (from) => {
        if (this.#taken !== undefined) this.#taken = handedOut
        this.#makeRoom()
        const steps = await this.read(from)
        handedOut = this.#saved
        return steps
      },
      leave: () => {
        this.#taken = undefined
        this.#makeRoom()
      },
    }
  }

  /** Ends it early. What had ended before stays as it was. */
  cancel(reason: string): Promise<ResponseRecord> {
    this.#end({ end: 'cancelled', at: nowSeconds() })
    this.#handle?.abort(new Error(reason))
    return this.settled
  }

  /** Ends it and leaves nothing behind: nobody knows of it. */
  abandon(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#handle?.abort(new Error(reason))
    this.#settled.resolve(this.begun)
  }

  /** Another has ended or deleted it: what the agent still does is of no use. */
  async adoptStoredOutcome(): Promise<void> {
    if (isEnd(this.#steps[this.#visible - 1])) return
    this.#ended = true
    this.#handle?.abort(new Error('The response was ended by another request.'))
    const stored = await this.#options.store?.get(this.id)
    const last = stored?.steps.at(-1)
    const steps = this.#steps.slice(0, this.#visible)
    this.#steps = [...steps, isEnd(last) ? last : { end: 'cancelled', at: nowSeconds() }]
    this.#show(this.#steps.length)
    this.#settled.resolve(this.record())
  }

  #describe(error: unknown): string {
    if (error instanceof HostError && error.code === 'RUN_ABORTED') {
      return 'The server shut down before the response was complete'
    }
    return this.#options.describeFailure(error)
  }

  #tellCall({ event_type, method_name, arguments: given, call_id }: AgentEvent): void {
    if (event_type !== 'call' || method_name !== 'executeTool') return
    const [name, args] = given?.args ?? []
    if (typeof name !== 'string') return
    void this.#add({
      call: { callId: `call_${call_id.replaceAll('.', '_')}`, name, arguments: JSON.stringify(args ?? {}) },
    })
  }

  #add(step: Step): void | Promise<void> {
    if (this.#ended) return
    this.#steps.push(step)
    this.#produced += typeof step === 'string' ? step.length : 0
    if (!this.#options.store) this.#show(this.#steps.length)
    else if (this.#options.persistsSteps) void this.#save()
    return this.#waitForRoom()
  }

  #end(step: EndStep): void {
    if (this.#ended) return
    this.#ended = true
    this.#steps.push(step)
    if (this.#options.store) void this.#save()
    else this.#settle()
  }

  /** One write at a time; what comes during it goes with the next. */
  async #save(): Promise<void> {
    if (this.#saving) return
    this.#saving = true
    try {
      // Not at once: an agent that answers without waiting for anything is stored once, with its end.
      if (this.#options.persistsSteps) await nextTurn()
      while (!this.#kept || this.#visible < this.#steps.length) {
        const upTo = this.#steps.length
        const isSaved = await this.#saveUpTo(upTo)
        if (!isSaved && !this.#kept) throw new RequestRepeated()
        if (!isSaved) return void (await this.adoptStoredOutcome())
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
    const { store, draft } = this.#options
    if (!store) return true
    const steps = this.#steps.slice(0, upTo)
    if (!this.#kept) {
      this.#kept = await store.create(draft, steps)
      this.#batches = steps.length > 0 ? 1 : 0
      if (this.#kept) this.#stored.resolve()
      return this.#kept !== undefined
    }
    if (isEnd(steps.at(-1))) return store.finish(this.begun, this.#kept, steps, this.#batches)
    return store.append(this.id, this.#batches++, steps.slice(this.#visible))
  }

  /** What cannot be stored is not told as done. */
  #failToSave(error: unknown): void {
    const failed: EndStep = { end: 'failed', at: nowSeconds(), error: 'The response could not be stored' }
    this.#ended = true
    this.#handle?.abort(error)
    this.#steps = [...this.#steps.filter((step) => !isEnd(step)), failed]
    this.#show(this.#steps.length)
    this.#stored.reject(error)
    this.#settled.reject(error)
  }

  #settle(): void {
    this.#show(this.#steps.length)
    this.#settled.resolve(this.record())
  }

  #show(upTo: number): void {
    this.#visible = upTo
    this.#saved = this.#produced
    this.#makeRoom()
    const { resolve } = this.#change
    this.#change = new Deferred()
    resolve()
  }

  #waitForRoom(): Promise<void> | undefined {
    if (!this.#options.persistsSteps && this.#options.store) return undefined
    if (this.#ahead <= MAX_AHEAD_LENGTH) return undefined
    this.#room ??= new Deferred()
    return this.#room.promise
  }

  #makeRoom(): void {
    if (!this.#room || this.#ahead > MAX_AHEAD_LENGTH) return
    this.#room.resolve()
    this.#room = undefined
  }

  get #ahead(): number {
    return this.#produced - Math.min(this.#saved, this.#taken ?? this.#saved)
  }
}

/** The same request was stored while this one ran: that one is its answer. */
export class RequestRepeated extends Error {}

class Deferred<T> {
  readonly promise: Promise<T>
  resolve!: (value: T) => void
  reject!: (error: unknown) => void

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
