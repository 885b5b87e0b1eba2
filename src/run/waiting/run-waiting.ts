import type { RunAnswer } from '../state/run-answer.ts'
import type { Turn } from '../turn.ts'
import { toAnswerJson } from './answer-json.ts'
import { GivenAnswers } from './given-answers.ts'
import {
  type AnsweredCall,
  type PendingAnswer,
  type PendingCall,
  RUN_WAITS,
  type RunWaits,
  toolCallOf,
  type WaitingChild,
} from './pending-call.ts'

const NONE = Object.freeze([])

/** Facts of a turn about the runs before it, and about waiting. */
type TurnToContinue = Pick<Turn, 'answers' | 'pending' | 'isTrailLost' | 'answersTo' | 'onQuestion' | 'ttlSeconds'>

/** Calls that a run waits for, and the answers that it got to those of the run before. */
export class RunWaiting {
  readonly #runId: string
  readonly #turn: TurnToContinue
  readonly #answer: RunAnswer
  /** See `PendingCall.ttlSeconds`. */
  readonly #ttlSeconds: number | undefined
  /** True for a run that continues with a person's decision or answer. A field, since every tool call reads it. */
  readonly isDecided: boolean
  #pending: PendingCall[] | undefined
  #beside: AnsweredCall[] | undefined
  #answers: GivenAnswers | undefined
  /** Tool calls that have called an agent. */
  #calledFrom: Set<string> | undefined

  /** @param ttlSeconds time that the agent gives a person to decide; undefined for ever */
  constructor(runId: string, turn: TurnToContinue, answer: RunAnswer, ttlSeconds: number | undefined) {
    this.#runId = runId
    this.#turn = turn
    this.#answer = answer
    this.#ttlSeconds = ttlSeconds
    this.isDecided =
      turn.answers?.some(({ kind }) => kind !== 'client_tool') || turn.pending?.some(({ decided }) => decided) || false
  }

  /** See `Turn.isTrailLost`. */
  get isTrailLost(): boolean {
    return this.#turn.isTrailLost === true
  }

  /** See `Turn.onQuestion`. */
  get onQuestion(): Turn['onQuestion'] {
    return this.#turn.onQuestion
  }

  get hasBegun(): boolean {
    return this.#pending !== undefined
  }

  get pending(): readonly PendingCall[] {
    return this.#pending ?? NONE
  }

  /** Returns the calls that the run waits for, with earlier decisions on their nested calls. Only for use after the end of the run. */
  pendingWithDecisions(): readonly PendingCall[] {
    if (!this.#turn.answers && !this.#turn.pending) return this.pending
    const seen = new Set<string>()
    return this.pending.map((pending, index) => {
      const id = toolCallOf(pending)
      const decided = seen.has(id) ? [] : this.answers.keptFor(id)
      const beside = index === 0 ? this.#beside : undefined
      seen.add(id)
      return { ...pending, ...(decided.length > 0 ? { decided } : {}), ...(beside ? { beside } : {}) }
    })
  }

  /** Keeps the answer to a call while others of the same run have none. */
  keep(call: PendingCall, answer: PendingAnswer): void {
    this.#beside ??= []
    this.#beside.push({ call, answer: toAnswerJson(answer) })
  }

  /**
   * Ends the run waiting for answers to these calls, all of one tool call. Returns the error that ends its handler.
   */
  begin(...calls: readonly PendingCall[]): RunWaits {
    this.#pending ??= []
    // One question at a time: the tool of the call runs again after the answer, and then asks the next.
    if (calls.some((call) => this.isFor(toolCallOf(call)))) return RUN_WAITS
    for (const call of calls) {
      const { moduleId = call.moduleId } = this.#answer.trail.find(toolCallOf(call)) ?? {}
      const ofModule = moduleId === undefined ? {} : { moduleId }
      const pending = { ...call, runId: this.#runId, ...ofModule, ...this.#expiryOf(call) }
      this.#pending.push(pending)
      const { providerMetadata } = this.#answer.trail.find(call.callId)?.call ?? {}
      this.#answer.notify({ type: 'pending', pending, ...(providerMetadata ? { providerMetadata } : {}) })
    }
    return RUN_WAITS
  }

  /** The smallest time of the request, the agent and those that it called. */
  #expiryOf({ kind, ttlSeconds }: PendingCall): Pick<PendingCall, 'ttlSeconds'> {
    const given = [ttlSeconds, this.#ttlSeconds, this.#turn.ttlSeconds].filter((seconds) => seconds !== undefined)
    return kind === 'client_tool' || given.length === 0 ? {} : { ttlSeconds: Math.min(...given) }
  }

  /** Tells whether the run waits for a tool call, or for a child that it began. */
  isFor(callId: string): boolean {
    return this.pending.some((pending) => toolCallOf(pending) === callId)
  }

  /** Id of the waiting run that this one continues; null for any other. */
  get continues(): string | null {
    return this.#turn.pending?.[0]?.runId ?? null
  }

  /** Id of the run before this one in their conversation: the one it continues, or whose calls the client has answered. */
  get follows(): string | null {
    return this.continues ?? this.#turn.answersTo ?? null
  }

  /**
   * Takes the waiting child run of a tool call; undefined for a call that has begun none yet.
   *
   * @throws Error for the second of one call: only one could be found again
   */
  takeChild(callId: string): WaitingChild | undefined {
    this.#calledFrom ??= new Set()
    if (this.#calledFrom.has(callId)) throw new Error('run.callAgent was called twice in one call of a tool.')
    this.#calledFrom.add(callId)
    return this.#turn.pending?.find((pending) => pending.child && toolCallOf(pending) === callId)?.child
  }

  /** Answers given to the run, and their use. */
  get answers(): GivenAnswers {
    this.#answers ??= new GivenAnswers(this.#turn.answers ?? NONE, this.#turn.pending ?? NONE)
    return this.#answers
  }
}
