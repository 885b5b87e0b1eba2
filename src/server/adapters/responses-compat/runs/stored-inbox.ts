import { approvalId } from '../../../../durable/approvals/approvals.ts'
import { openWaiting } from '../../../../durable/approvals/open-waiting.ts'
import { makeTurn } from '../../../../durable/conversations/conversation-tree.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { answerOf, isEnd, nowSeconds, type Step } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { ModelOptions } from '../../../../protocols/model-options.ts'
import { NO_USAGE } from '../../../../protocols/usage.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import type { ApprovalInbox, DecidedRun, KeptRun, OpenApproval } from '../../../approval-inbox.ts'
import { makeValidator } from '../../../bodies/validator.ts'
import { beginRecord, toInputItems } from '../input/convert.ts'
import { SHOWN_AFTER_DECISION } from '../input/to-job.ts'
import { DecisionRequest, toAnswer } from '../routes/decision-request.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'

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

  async keep({ agent, messages, result, ...options }: KeptRun): Promise<readonly OpenApproval[]> {
    const { runs, ids, host } = this.#options
    const { requestOptions = {}, user, metadata } = options
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
    const { approvalTtl, isRestartSafe = false } = host.resolve(agent).agent
    const waiting = openWaiting(
      id,
      { agent, options, shows: SHOWN_AFTER_DECISION, isRestartSafe, approvalTtl },
      pending,
    )
    await runs.store.create(draft, steps, { messages: trail.slice(messages.length), pending, waiting })
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

/** Options for a model as fields of a request, to be shown in the record. `stop` and `seed` have none in this API. */
function toOptionFields(options: ModelOptions) {
  const { temperature, topP, maxOutputTokens, presencePenalty, frequencyPenalty, reasoningEffort, responseSchema } =
    options
  return {
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    ...(responseSchema
      ? { text: { format: { type: 'json_schema' as const, name: 'answer', schema: responseSchema } } }
      : {}),
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
