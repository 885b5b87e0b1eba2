import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../../errors.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { fromAttachmentJson, toAttachmentJson } from '../attachment-json.ts'
import { mapAttachments } from '../map-attachments.ts'
import {
  type CallDecision,
  type EarlierDecision,
  type NestedResult,
  type PendingAnswer,
  type PendingCall,
  RunWaits,
  toolCallOf,
} from './pending-call.ts'

/** Decision on one call, and the outcome of a nested call. */
export interface GivenDecision {
  readonly answer: CallDecision
  /** Call that the person saw; absent if it was not handed back. */
  readonly call?: PendingCall
  readonly isEarlier: boolean
  isTaken: boolean
  result?: NestedResult
}

/** Call that is about to be executed. */
export interface DecidedCall {
  /** Of the call in the conversation: for a nested one, that of its tool. */
  readonly id: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** True for a call that the code of a tool makes: a decision without a digest is not about it. */
  readonly isNested: boolean
}

/**
 * Answers that a run was given. The code of a tool may call other tools: all of these stand under the id of one call of the
 * conversation, and a decision belongs to the one whose digest it has. A tool that runs again finds the decisions and the results of
 * its earlier calls: none of them needs a second decision, or is executed twice.
 */
export class GivenAnswers {
  readonly #answers: readonly PendingAnswer[]
  readonly #decisions = new Map<string, GivenDecision[]>()
  readonly #underWay = new Map<string, Promise<unknown>[]>()
  readonly #asked = new Map<string, number>()

  constructor(answers: readonly PendingAnswer[], pending: readonly PendingCall[]) {
    this.#answers = answers
    for (const call of pending) {
      for (const { result, ...answer } of call.decided ?? []) {
        this.#add(toolCallOf(call), { answer, isEarlier: true, isTaken: false, ...(result ? { result } : {}) })
      }
    }
    for (const given of answers) {
      if (given.kind !== 'approval') continue
      const { callId, kind: _, ...answer } = given
      const call = pending.find((each) => each.callId === callId)
      const digest = answer.digest ?? call?.digest
      const decided = { answer: { ...answer, ...(digest ? { digest } : {}) }, ...(call ? { call } : {}) }
      this.#add(callId, { ...decided, isEarlier: false, isTaken: false })
    }
  }

  answerTo(callId: string): PendingAnswer | undefined {
    return this.#answers.find((answer) => answer.callId === callId)
  }

  /** Number of the next question of a tool call, from 0. */
  nextQuestion(callId: string): number {
    const count = this.#asked.get(callId) ?? 0
    this.#asked.set(callId, count + 1)
    return count
  }

  /** Tells whether there is a decision about this call or about a call that its tool makes. */
  isAbout(callId: string): boolean {
    return this.#decisions.has(callId)
  }

  /**
   * Takes the decision about a call: once, also where a model repeats the id of a call.
   *
   * @param digest as the call has it in this version of the agent
   * @param isNeeded false for a call that no longer needs a decision: one about an earlier version of the agent counts too
   */
  take({ id, name, args, isNested }: DecidedCall, digest: string, isNeeded: boolean): GivenDecision | undefined {
    const found = this.#decisions.get(id)?.find(({ isTaken, answer, call }) => {
      if (isTaken) return false
      const isUnbound = answer.digest === undefined && !isNested
      if (answer.digest === digest || (isUnbound && isNeeded)) return true
      if (isNeeded) return false
      // Given without its call: an edit or a rejection applies, and an approval changes nothing.
      if (!call) return isUnbound && answer.decision !== 'approve'
      return call.kind === 'approval' && call.name === name && isDeepStrictEqual(call.arguments, args)
    })
    if (found) found.isTaken = true
    return found
  }

  /** Executes a call that the code of a tool makes, unless it was executed when the tool ran before. */
  carryOut(callId: string, decision: GivenDecision, execute: () => Promise<ToolResult>): Promise<ToolResult> {
    const { result } = decision
    if (result) return this.#repeat(callId, result)
    const askedBefore = this.#asked.get(callId) ?? 0
    const work = execute()
    const note = (outcome: Omit<NestedResult, 'questions'>) => {
      decision.result = { ...outcome, questions: (this.#asked.get(callId) ?? 0) - askedBefore }
    }
    const noted = work.then(
      (value) => note(mapAttachments(value, toAttachmentJson)),
      // One that waits itself runs again with the tool.
      (error: unknown) => error instanceof RunWaits || note({ text: messageOf(error), hasThrown: true }),
    )
    this.#underWay.set(callId, [...(this.#underWay.get(callId) ?? []), noted])
    return work
  }

  /** Waits for the calls that the code of a tool has begun. */
  async settle(callId: string): Promise<void> {
    await Promise.all(this.#underWay.get(callId) ?? [])
  }

  /** Decisions under a call that hold when its tool runs again. */
  keptFor(callId: string): EarlierDecision[] {
    const kept = (this.#decisions.get(callId) ?? []).filter(({ isEarlier, isTaken }) => isEarlier || isTaken)
    return kept.map(({ answer, result }) => (result ? { ...answer, result } : answer))
  }

  #add(callId: string, decision: GivenDecision): void {
    this.#decisions.set(callId, [...(this.#decisions.get(callId) ?? []), decision])
  }

  /** Gives the earlier result; its questions count as asked. */
  async #repeat(callId: string, { questions, hasThrown, ...result }: NestedResult): Promise<ToolResult> {
    this.#asked.set(callId, (this.#asked.get(callId) ?? 0) + questions)
    if (hasThrown) throw new Error(result.text)
    return mapAttachments(result, fromAttachmentJson)
  }
}
