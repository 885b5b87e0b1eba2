import { isDeepStrictEqual } from 'node:util'
import type { AdapterRuns, StoredRunInfo, TenantRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import { runIdOf } from '../../../../durable/approvals/approvals.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import type { ClientSeal } from '../../../../durable/durable-runs.ts'
import { RUN_PREFIX, uuidOf } from '../../../../durable/runs/run-ids.ts'
import { type AgentHost, START_MADE, type Target, VISITS } from '../../../../host/host.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import type { RunEventSink } from '../../../../run/run-event.ts'
import type { RunHandle, RunResult, Turn } from '../../../../run/turn.ts'
import type { PendingCall } from '../../../../run/waiting/pending-call.ts'
import { ENTRY } from '../../../../wiring/wiring.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'
import type { CallMemory } from '../call-memory/call-memory.ts'
import { describeOpen } from '../elicitation/describe-open.ts'
import { isInvalidFor, toPendingAnswer } from '../elicitation/elicitation.ts'
import { INVALID_PARAMS, invalidParams, JsonRpcError } from '../json-rpc.ts'
import { type Call, type CallOptions, deferCall } from './call.ts'
import { coalesceProgress, type ProgressSink } from './coalesce-progress.ts'
import { toContent } from './content.ts'
import { readAttachments } from './read-attachments.ts'
import type { ToRpcError } from './to-rpc-error.ts'
import type { ToolCatalog, ToolInput } from './tool-catalog.ts'
import { type ToolResult, withStructure } from './tool-result.ts'

type Answered = NonNullable<CallOptions['elicitation']>

/** Checked request to call a tool. */
export interface ToolRequest {
  readonly name: string
  readonly info: AgentInfo
  readonly input: ToolInput
}

/** Reason of a call that has ended for want of a decision. */
export const UNDECIDED = 'No person has decided in time about what the agent was to do; it was not executed.'
/** A person who has not answered by then does not answer any more. */
const WAITING_SECONDS = 7 * 24 * 60 * 60

/** Part of a turn that depends on earlier calls. */
type GivenTurn = Pick<Turn, 'messages' | 'variant'>

export interface ToolCallsOptions {
  readonly host: AgentHost
  readonly catalog: ToolCatalog
  readonly memory: CallMemory
  /** Takes the runs that wait. */
  readonly runs: AdapterRuns
  /** Returns what seals the states of waiting calls for the clients of a tenant. */
  readonly seal: (tenant: string) => Promise<ClientSeal>
  /** True where links to what waits lead somewhere. */
  readonly servesInbox: boolean
  readonly limits: HistoryLimits
  readonly toRpcError: ToRpcError
}

/** Calls of tools: each is a run of an agent, or the next part of one that waited. */
export class ToolCalls {
  readonly #options: ToolCallsOptions

  constructor(options: ToolCallsOptions) {
    this.#options = options
  }

  /** Starts a call, or one in which an earlier call goes on. */
  start(request: ToolRequest, options: CallOptions): Call<ToolResult> {
    const later = this.#goOn(request, options)
    if (later) return deferCall(later, (error) => this.#options.toRpcError(error, options.source))
    return this.#begin(request, { messages: [toMessage(request)] }, options)
  }

  #begin(request: ToolRequest, given: GivenTurn, options: CallOptions): Call<ToolResult> {
    const { onProgress, tenant, traceparent } = options
    const turn = {
      tenant,
      traceparent,
      ttlSeconds: WAITING_SECONDS,
      input: request.input.input,
      onEvent: onProgress && toProgress(onProgress),
      ...given,
    }
    const { host, toRpcError } = this.#options
    const answer = (handle: RunHandle) => this.#answerWith(handle, request, given, options)
    // A batch may have several.
    const begun = host[VISITS].admitted(() => host[START_MADE](request.name, turn, '.'))
    if (!(begun instanceof Promise)) return answer(begun)
    return deferCall(begun.then(answer), (error) => toRpcError(error, options.source))
  }

  #answerWith(handle: RunHandle, request: ToolRequest, given: GivenTurn, options: CallOptions): Call<ToolResult> {
    const toRpcError = (error: unknown) => this.#options.toRpcError(error, options.source)
    return {
      answer: (onResult, onFailure) =>
        handle.result.then(
          (result) => {
            let finished: ToolResult | Promise<ToolResult>
            try {
              finished =
                result.status === 'waiting'
                  ? this.#wait(request, result, given, options)
                  : this.#finish(result, request, given, options)
            } catch (error) {
              return onFailure(toRpcError(error))
            }
            if (!(finished instanceof Promise)) return onResult(finished)
            return finished.then(onResult, (error: unknown) => onFailure(toRpcError(error)))
          },
          (error: unknown) => onFailure(toRpcError(error)),
        ),
      abort: (reason) => handle.abort(new Error(reason)),
    }
  }

  /** Starts a call in which an earlier one goes on; undefined for a call that begins. */
  #goOn(request: ToolRequest, options: CallOptions): Promise<Call<ToolResult>> | undefined {
    const { elicitation } = options
    if (elicitation?.state !== undefined) return this.#resume(request, elicitation.state, elicitation, options)
    const variant = options.variantOf?.(request.name)
    if (request.input.conversationId === undefined && !variant) return undefined
    return this.#startLater(request, options, variant)
  }

  /** Starts a call once its conversation is read, and its variant is open. */
  async #startLater(
    request: ToolRequest,
    options: CallOptions,
    opening: Promise<Turn['variant']> | undefined,
  ): Promise<Call<ToolResult>> {
    const variant = await opening
    const earlier = await this.#earlierOf(request, options)
    if (!earlier) throw invalidParams('conversation_id is unknown, or was forgotten')
    const messages = [...earlier, toMessage(request)]
    if (earlier.length > 0) this.#checkHistory(messages)
    return this.#begin(request, { messages, variant }, options)
  }

  /** Goes on with a waiting call. A refused start leaves it waiting: the client may send the same answers again. */
  async #resume(
    request: ToolRequest,
    state: string,
    answered: Answered,
    options: CallOptions,
  ): Promise<Call<ToolResult>> {
    const { responses, by } = answered
    const runs = this.#options.runs.of(options.tenant)
    const id = (await this.#options.seal(options.tenant)).open(state)
    const waiting = typeof id === 'string' ? await runs.find(id) : undefined
    if (!waiting || !isCallOf(waiting, request)) throw unknownState()
    const said = await this.#saidBy(request, options)
    if (waiting.continuedBy !== null) return this.#follow(waiting.continuedBy, request, said, options)
    if (waiting.open.length === 0) throw waiting.status === 'expired' ? undecided() : givenUp()
    const answers = waiting.open.flatMap(({ call }) => {
      const response = responses[call.callId]
      if (response && isInvalidFor(call, response)) throw invalidResponse(call)
      return (response && toPendingAnswer(call, response, by)) ?? []
    })
    if (answers.length === 0) {
      const pending = waiting.open.map(({ call }) => call)
      const given = Object.keys(responses)
      const isLate = given.some((callId) => pending.every((call) => call.callId !== callId))
      // The client has answered nothing, or only a call that someone else has decided: the next question is about the calls that still wait.
      if (isLate || given.length === 0)
        return { answer: async (onResult) => onResult({ content: [], waiting: { state, pending } }), abort() {} }
      await runs.cancel(waiting.id)
      throw givenUp()
    }
    const onEvent = options.onProgress && toProgress(options.onProgress)
    try {
      const handle = await runs.resume(waiting.id, answers, by, { onEvent })
      return this.#answerWith(handle, request, said, options)
    } catch (error) {
      const now = await runs.find(waiting.id).catch(() => undefined)
      if (!now || now.open.length >= waiting.open.length) throw error
      // The inbox, or a copy of this request, was quicker.
      return this.#resume(request, state, answered, options)
    }
  }

  /** Cancels a waiting call: its client has left. */
  async giveUp(state: string, tenant: string): Promise<void> {
    const id = (await this.#options.seal(tenant)).open(state)
    if (typeof id === 'string') await this.#options.runs.of(tenant).cancel(id)
  }

  /** The inbox was quicker: gives the outcome of the run that goes on. */
  #follow(id: string, request: ToolRequest, said: GivenTurn, options: CallOptions): Call<ToolResult> {
    const runs = this.#options.runs.of(options.tenant)
    const leaving = new AbortController()
    const result = readResult(runs, id, leaving.signal)
    const abort = (reason: unknown) => leaving.abort(reason)
    return this.#answerWith({ id, result, abort }, request, said, options)
  }

  /** Reads what was said before; undefined for a conversation that is not known. */
  async #earlierOf({ info, input }: ToolRequest, { tenant }: CallOptions): Promise<readonly Message[] | undefined> {
    if (input.conversationId === undefined) return []
    const { host, memory } = this.#options
    return memory.of(tenant).readConversation(input.conversationId, info.id, host[VISITS].current?.user)
  }

  /** Returns what a call that goes on had to say. A conversation that is forgotten while it waits does not undo a person's decision. */
  async #saidBy(request: ToolRequest, options: CallOptions): Promise<GivenTurn> {
    const earlier = (await this.#earlierOf(request, options)) ?? []
    return { messages: [...earlier, toMessage(request)] }
  }

  /** Keeps a run that waits: for the answers of the client, or for another person where the client's user cannot be asked. */
  async #wait(
    { name }: ToolRequest,
    result: RunResult,
    { messages, variant }: GivenTurn,
    { elicitation, baseUrl, tenant }: CallOptions,
  ): Promise<ToolResult> {
    const { host, runs, servesInbox, seal } = this.#options
    const agent = nameOf(host.resolve(name, '.'))
    // One that has gone on after answers is stored already.
    const stored = await runs.of(tenant).find(`${RUN_PREFIX}${result.runId}`)
    const kept = { agent, messages, variant, result, data: { tool: name }, ttlSeconds: WAITING_SECONDS }
    const open = stored?.open ?? (await runs.of(tenant).keep(kept))
    if (elicitation) {
      // A stored call may already be decided: then it is not open any more.
      const id = stored?.id ?? runIdOf(open[0]?.id ?? '')
      const state = (await seal(tenant)).seal(id)
      return { content: [], waiting: { state, pending: open.map(({ call }) => call) } }
    }
    const place =
      servesInbox && baseUrl !== undefined ? 'in the response that `continued_by` names' : 'in the background'
    const text = `${describeOpen(open, { baseUrl }, { servesInbox })} The agent then continues ${place}.`
    return { content: [{ type: 'text', text }], isError: true }
  }

  /** @throws HostError `REQUEST_INVALID` that names the limit */
  #checkHistory(messages: readonly Message[]): void {
    new HistoryBudget(this.#options.limits).addItems(messages.length, bytesOfMessages(messages))
  }

  #finish(
    { text, attachments }: RunResult,
    { info, input }: ToolRequest,
    { messages }: GivenTurn,
    { version, tenant }: CallOptions,
  ): ToolResult | Promise<ToolResult> {
    const content = toContent(text, attachments, version)
    const present = () => (info.output ? withStructure(content, text, info.output, this.#options.catalog) : { content })
    if (!info.conversation) return present()
    const { user } = this.#options.host[VISITS].current ?? {}
    const said = [...messages, { role: 'assistant' as const, content: text }]
    const conversation = { agentId: info.id, messages: said, user }
    const memory = this.#options.memory.of(tenant)
    return memory.writeConversation(input.conversationId, conversation).then((id) => {
      // In the text, because models see nothing else.
      if (id !== undefined) content.push({ type: 'text', text: `conversation_id: ${id}` })
      return present()
    })
  }
}

function toMessage({ input }: Pick<ToolRequest, 'input'>): Message {
  return { role: 'user', content: input.text }
}

function undecided(): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, UNDECIDED)
}

function givenUp(): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, 'The call was given up: no question was answered')
}

function unknownState(): JsonRpcError {
  return invalidParams('requestState is unknown, or was answered before')
}

function invalidResponse({ name }: PendingCall): JsonRpcError {
  return invalidParams(
    `The response does not answer the question about ${name}. The call still waits, in the inbox too`,
  )
}

/** Tells whether a run that waits is a call of this tool. */
function isCallOf({ data }: StoredRunInfo, { name }: ToolRequest): boolean {
  return isDeepStrictEqual(data, { tool: name })
}

/** Reads the result of a run, or of the last one that continues it. */
async function readResult(runs: TenantRuns, id: string, signal: AbortSignal): Promise<RunResult> {
  const { status: state, text, usage, incompleteReason, open, continuedBy } = await runs.outcome(id, signal)
  if (continuedBy !== null) return readResult(runs, continuedBy, signal)
  if (state === 'expired') throw undecided()
  const pending = open.map(({ call }) => call)
  const status = pending.length > 0 ? 'waiting' : 'completed'
  const attachments = await readAttachments(runs, id)
  return { runId: uuidOf(id), status, text, attachments, usage, incompleteReason, pending, trail: [] }
}

/** Name by which other protocols call an agent at an entry point. */
export function nameOf({ agent, entryPoint }: Target): string {
  return entryPoint === ENTRY ? agent.id : `${agent.id}/${entryPoint}`
}

/** Returns a sink that reports every piece of text as progress, and of other progress only the latest. Attachments come with the result. */
function toProgress(sink: ProgressSink): RunEventSink {
  const report = coalesceProgress(sink)
  return (event) => {
    if (event.type === 'progress') return report(event.message)
    if (event.type === 'text') return sink(event.text)
  }
}
