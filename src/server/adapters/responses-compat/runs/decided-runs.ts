import { type Approval, approvalId, type Claim, joinClaims } from '../../../../durable/approvals/approvals.ts'
import { type Conversation, makeTurn } from '../../../../durable/conversations/conversation-tree.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { RequestRepeated } from '../../../../durable/idempotency.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { nowSeconds } from '../../../../durable/runs/steps.ts'
import { messageOf } from '../../../../errors.ts'
import type { PendingAnswer } from '../../../../run/state/pending-call.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import type { Decider } from '../../../guards/decisions.ts'
import { COMPAT } from '../../../replies/dialect.ts'
import { beginRecord } from '../input/convert.ts'
import { SHOWN_AFTER_DECISION, toJob } from '../input/to-job.ts'
import { toTurn } from '../input/to-turn.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'
import type { ConversationItems } from './conversation-items.ts'
import { repeatRequest } from './repeat-request.ts'

export interface DecidedRunsOptions {
  readonly runs: DurableRuns<ResponseRecord, InputItem>
  readonly ids: RunIds
  readonly items: ConversationItems
  readonly host: AdapterOptions['host']
  readonly log: AdapterOptions['log']
}

const SWEEP_MS = 5000

/** Waiting responses that continue when everything they wait for is decided: also after a crash between the two. */
export class DecidedRuns {
  readonly #options: DecidedRunsOptions
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> = Promise.resolve()

  constructor(options: DecidedRunsOptions) {
    this.#options = options
  }

  /** Looks after decisions that a server which died did not carry out. */
  start(): void {
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    this.#sweep()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sweeping
  }

  /**
   * Decides with the answers of a request, and takes the decisions of others along.
   *
   * @param answers those of the request; undefined for a plain message, which rejects open calls
   * @throws HostError `APPROVAL_DECIDED`, `KEY_FORBIDDEN`
   */
  async join(
    { last }: Conversation,
    answers: readonly PendingAnswer[] | undefined,
    newId: string,
    { by, requireMayDecide }: Decider,
  ): Promise<{ answers: readonly PendingAnswer[] | undefined; claim: Claim | undefined }> {
    const { approvals } = this.#options.runs
    const { response_id: runId, pending = [] } = last
    if (pending.every(({ kind }) => kind === 'client_tool')) return { answers, claim: undefined }
    if (!answers) {
      await approvals.giveUp(runId, 'superseded')
      return { answers, claim: undefined }
    }
    const outputs = answers.filter(({ kind }) => kind === 'client_tool')
    if (outputs.length < answers.length) requireMayDecide()
    for (const { callId, ...answer } of answers) {
      const index = pending.findIndex((call) => call.callId === callId)
      if (answer.kind !== 'client_tool') await approvals.decide(approvalId(runId, index), answer, by)
    }
    const decided = (await approvals.ofRun(runId)).filter(({ decision }) => decision !== null)
    // The new response asks again for calls that are still open.
    await approvals.giveUp(runId, 'superseded')
    return { answers: [...outputs, ...answersOf(decided)], claim: approvals.claim(decided, newId) }
  }

  /** Goes on with a run, once everything it waits for is decided. Gives the id of the response in which it does; null until then. */
  async goOn(runId: string): Promise<string | null> {
    const { approvals } = this.#options.runs
    const all = await approvals.ofRun(runId)
    if (all.some(({ status }) => status === 'pending')) return null
    const continuedBy = all[0]?.continuedBy ?? null
    const next = continuedBy ?? (await this.#start(runId, all))
    // From here on the run looks after itself.
    await approvals.settle(runId)
    return next ?? null
  }

  /** Undefined when decisions alone cannot continue the run: a client's tool is open, or nothing is left to decide. */
  async #start(runId: string, decided: readonly Approval[]): Promise<string | undefined> {
    const { runs, ids, host, items } = this.#options
    const waiting = await runs.store.get(runId)
    const named = await runs.conversations.endingWith(runId)
    const conversation = await (named ? items.load(named) : runs.store.conversation(runId))
    const pending = conversation?.last.pending ?? []
    const answers = answersOf(decided)
    if (!waiting || !conversation || answers.length < pending.length) return undefined
    const body = repeatRequest(waiting.facts)
    const id = ids.next()
    const createdAt = nowSeconds()
    const { messages: earlier, last } = conversation
    const facts = { ...beginRecord(body, id, createdAt), ...(named ? { conversation: { id: named.id } } : {}) }
    const turn = {
      ...toTurn(host, { runId: ids.uuidOf(id), body, messages: earlier, dialect: COMPAT }),
      answers,
      pending,
    }
    const claim = joinClaims(runs.approvals.claim(decided, id), named && runs.conversations.claim(named, id))
    const stored = { ...makeTurn(id, createdAt, [], last, pending), ...(named ? { conversation: named.id } : {}) }
    try {
      const job = toJob(body, turn, host.resolve(body.model).agent, SHOWN_AFTER_DECISION)
      await runs.enqueue({ id, facts, items: [], turn: stored, earlier, idempotency: undefined, claim }, job)
      return id
    } catch (error) {
      if (!(error instanceof RequestRepeated)) throw error
      const now = await runs.approvals.ofRun(runId)
      // Somebody else was quicker, with the run or with a change to its conversation alone.
      const continuedBy = now[0]?.continuedBy ?? undefined
      return continuedBy !== undefined || !named ? continuedBy : this.#start(runId, now)
    }
  }

  #sweep(): void {
    this.#sweeping = this.#sweeping.then(async () => {
      try {
        for (const runId of await this.#options.runs.approvals.listDecided()) await this.#attempt(runId)
      } catch (error) {
        this.#options.log.error(`Decisions could not be looked after: ${messageOf(error)}`)
      }
    })
  }

  async #attempt(runId: string): Promise<void> {
    try {
      await this.goOn(runId)
    } catch (error) {
      this.#options.log.error(`The decisions about '${runId}' could not be carried out: ${messageOf(error)}`)
    }
  }
}

/** Decisions as answers; approvals that expired meanwhile count as rejected. */
function answersOf(approvals: readonly Approval[]): PendingAnswer[] {
  if (approvals.every(({ decision }) => decision === null)) return []
  return approvals.flatMap(({ decision, status, pending: { callId } }): PendingAnswer[] => {
    if (decision) return [decision.answer]
    return status === 'expired'
      ? [{ callId, kind: 'approval', decision: 'reject', reason: 'Nobody decided in time.' }]
      : []
  })
}
