import { approvalId, openApprovals } from '../../../../durable/approvals/approvals.ts'
import { makeTurn } from '../../../../durable/conversations/conversation-tree.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { answerOf, isEnd, nowSeconds, type Step } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { Message } from '../../../../protocols/message.ts'
import { NO_USAGE } from '../../../../protocols/usage.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import type { ApprovalInbox, DecidedRun, KeptRun, OpenApproval } from '../../../approval-inbox.ts'
import { makeValidator } from '../../../bodies/validator.ts'
import { beginRecord, toInputItems } from '../input/convert.ts'
import { DecisionRequest, toAnswer } from '../routes/decision-request.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'
import { toOptionFields } from './repeat-request.ts'

export interface StoredInboxOptions {
  readonly runs: DurableRuns<ResponseRecord, InputItem>
  readonly ids: RunIds
  readonly host: AdapterOptions['host']
}

const validate = makeValidator(DecisionRequest)

/** Runs of other protocols that wait for people, as responses. */
export class StoredInbox implements ApprovalInbox {
  readonly #options: StoredInboxOptions

  constructor(options: StoredInboxOptions) {
    this.#options = options
  }

  async keep({
    agent,
    messages,
    user,
    metadata,
    requestOptions = {},
    result,
  }: KeptRun): Promise<readonly OpenApproval[]> {
    const { runs, ids, host } = this.#options
    const { text, pending, usage, trail } = result
    const id = ids.next()
    const createdAt = nowSeconds()
    const body = { ...toOptionFields(requestOptions), model: agent, input: messages.flatMap(toInput), user, metadata }
    const draft = {
      id,
      facts: beginRecord(body, id, createdAt),
      items: toInputItems(body.input, id, createdAt),
      turn: makeTurn(id, createdAt, messages, undefined),
      earlier: [],
      idempotency: undefined,
    }
    const said: Step[] = text === '' ? [] : [text]
    const steps: Step[] = [
      ...said,
      ...pending.map((call) => ({ pending: call })),
      { end: 'completed', at: createdAt, usage },
    ]
    const ttl = host.resolve(agent).agent.approvalTtl
    const approvals = openApprovals({ runId: id, agent, pending, createdAt, ttl })
    await runs.store.create(draft, steps, { messages: trail.slice(messages.length), pending, approvals })
    return pending.map((call, index) => ({ id: approvalId(id, index), call }))
  }

  async decide(decisions: ReadonlyMap<string, unknown>, by: string, signal: AbortSignal): Promise<DecidedRun> {
    const read = [...decisions].map(([id, decision]) => [id, toAnswer(readDecision(id, decision))] as const)
    const { approvals, continuedBy } = await this.#options.runs.deciding.decide(new Map(read), by)
    if (continuedBy !== null) return this.#follow(continuedBy, signal)
    const open = approvals.filter(({ status }) => status === 'pending').map(({ id, pending: call }) => ({ id, call }))
    return { text: '', usage: NO_USAGE, incompleteReason: undefined, open }
  }

  /** Waits for the end of the response in which a run goes on. */
  async #follow(id: string, signal: AbortSignal): Promise<DecidedRun> {
    const { runs } = this.#options
    const stored = await runs.store.get(id)
    if (!stored) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
    const log = runs.read(stored, signal)
    const steps: Step[] = []
    for (let more = await log.read(0); more.length > 0; more = await log.read(steps.length)) {
      steps.push(...more)
      if (isEnd(steps.at(-1))) break
    }
    const end = steps.at(-1)
    if (!isEnd(end) || end.end !== 'completed') {
      throw new HostError('AGENT_FAILED', (isEnd(end) && end.error) || 'Agent execution failed')
    }
    const open = steps.flatMap((step) => (typeof step === 'object' && 'pending' in step ? [step.pending] : []))
    return {
      text: answerOf(steps),
      usage: end.usage ?? NO_USAGE,
      incompleteReason: end.incomplete,
      open: open.map((call, index) => ({ id: approvalId(id, index), call })),
    }
  }
}

function toInput({ role, content }: Message) {
  return role === 'tool' ? [] : [{ role, content }]
}

function readDecision(id: string, decision: unknown): DecisionRequest {
  const { error } = validate(decision)
  if (error) throw new HostError('REQUEST_INVALID', `The decision about '${id}': ${error.message}`)
  return decision as DecisionRequest
}
