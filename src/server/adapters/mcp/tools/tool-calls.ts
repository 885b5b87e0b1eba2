import type { AdapterRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import { startTaken } from '../../../../durable/decisions/taken-row.ts'
import type { AgentHost, Target } from '../../../../host/host.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import type { RunEventSink } from '../../../../run/run-event.ts'
import type { RunResult, Turn } from '../../../../run/turn.ts'
import { ENTRY } from '../../../../wiring/wiring.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'
import type { CallMemory, WaitingCall } from '../call-memory/call-memory.ts'
import { describeOpen } from '../elicitation/describe-open.ts'
import { toPendingAnswer } from '../elicitation/elicitation.ts'
import { INVALID_PARAMS, invalidParams, JsonRpcError } from '../json-rpc.ts'
import { type Call, type CallOptions, deferCall } from './call.ts'
import { coalesceProgress, type ProgressSink } from './coalesce-progress.ts'
import { toContent } from './content.ts'
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

/** Part of a turn that depends on earlier calls. */
type GivenTurn = Pick<Turn, 'messages' | 'pending' | 'answers' | 'variant'>

export interface ToolCallsOptions {
  readonly host: AgentHost
  readonly catalog: ToolCatalog
  readonly memory: CallMemory
  /** Takes the runs whose clients cannot be asked. */
  readonly runs: AdapterRuns
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

  #begin(
    request: ToolRequest,
    given: GivenTurn,
    options: CallOptions,
    start = (turn: Turn) => this.#options.host.start(request.name, turn, '.'),
  ): Call<ToolResult> {
    const { onProgress, source, tenant, traceparent } = options
    const turn = {
      tenant,
      traceparent,
      input: request.input.input,
      onEvent: onProgress && toProgress(onProgress),
      ...given,
    }
    const handle = start(turn)
    const toRpcError = (error: unknown) => this.#options.toRpcError(error, source)
    return {
      answer: (onResult, onFailure) =>
        handle.result.then(
          (result) => {
            let finished: ToolResult | Promise<ToolResult>
            try {
              finished =
                result.status === 'waiting'
                  ? this.#wait(request.name, result, given, options)
                  : this.#finish(result, request, given.messages, options)
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
    const { info, input } = request
    const variant = await opening
    const memory = this.#options.memory.of(options.tenant)
    const messages =
      input.conversationId === undefined
        ? [toMessage(request)]
        : await this.#continue(memory, input.conversationId, info.id, toMessage(request))
    return this.#begin(request, { messages, variant }, options)
  }

  /** Goes on with a waiting call. A refused start leaves it waiting: the client may send the same answers again. */
  async #resume(
    request: ToolRequest,
    state: string,
    answered: Answered,
    options: CallOptions,
  ): Promise<Call<ToolResult>> {
    const found = await this.#options.memory.of(options.tenant).findWaiting(state, request.name)
    if (!found) throw unknownState()
    const turn = toNextTurn(found, answered)
    const reservation = this.#options.host.reserve(request.name, false, '.')
    try {
      await reservation.vary(turn.variant)
      reservation.check(turn)
      const taken = await found.take()
      if (!taken) throw unknownState()
      return this.#begin(request, turn, options, startTaken(taken, reservation.start))
    } finally {
      reservation.release()
    }
  }

  async #continue(memory: CallMemory, id: string, agentId: string, message: Message): Promise<readonly Message[]> {
    const earlier = await memory.readConversation(id, agentId)
    if (earlier) return this.#bounded([...earlier, message])
    throw invalidParams('conversation_id is unknown, or was forgotten')
  }

  async #wait(name: string, result: RunResult, given: GivenTurn, options: CallOptions): Promise<ToolResult> {
    const { pending, trail } = result
    if (!options.elicitation) {
      return this.#tellOpen(nameOf(this.#options.host.resolve(name, '.')), given, result, options)
    }
    const call = { name, pending, trail, variant: given.variant }
    return {
      content: [],
      waiting: { state: await this.#options.memory.of(options.tenant).keepWaiting(call), pending },
    }
  }

  /** The error for a client whose user cannot be asked: where another person decides, and how the run goes on then. */
  async #tellOpen(
    agent: string,
    { messages, variant }: GivenTurn,
    result: RunResult,
    { baseUrl, tenant }: CallOptions,
  ): Promise<ToolResult> {
    const { runs, servesInbox } = this.#options
    const open = await runs.of(tenant).keep({ agent, messages, variant, result })
    const place =
      servesInbox && baseUrl !== undefined ? 'in the response that `continued_by` names' : 'in the background'
    const text = `${describeOpen(open, { baseUrl }, { servesInbox })} The agent then continues ${place}.`
    return { content: [{ type: 'text', text }], isError: true }
  }

  /** @throws HostError `REQUEST_INVALID` that names the limit */
  #bounded(messages: readonly Message[]): readonly Message[] {
    new HistoryBudget(this.#options.limits).addItems(messages.length, bytesOfMessages(messages))
    return messages
  }

  #finish(
    { text, attachments }: RunResult,
    { info, input }: ToolRequest,
    messages: readonly Message[],
    { version, tenant }: CallOptions,
  ): ToolResult | Promise<ToolResult> {
    const content = toContent(text, attachments, version)
    const present = () => (info.output ? withStructure(content, text, info.output, this.#options.catalog) : { content })
    if (!info.conversation) return present()
    const conversation = { agentId: info.id, messages: [...messages, { role: 'assistant' as const, content: text }] }
    const memory = this.#options.memory.of(tenant)
    return memory.writeConversation(input.conversationId, conversation).then((id) => {
      // In the text, because models see nothing else.
      content.push({ type: 'text', text: `conversation_id: ${id}` })
      return present()
    })
  }
}

function toMessage({ input }: Pick<ToolRequest, 'input'>): Message {
  return { role: 'user', content: input.text }
}

function unknownState(): JsonRpcError {
  return invalidParams('requestState is unknown, or was answered before')
}

function toNextTurn({ pending, trail: messages, variant }: WaitingCall, { responses, by }: Answered): GivenTurn {
  const answers = pending.flatMap((asked) => {
    const response = responses[asked.callId]
    return (response && toPendingAnswer(asked, response, by)) ?? []
  })
  if (answers.length < pending.length) {
    throw new JsonRpcError(INVALID_PARAMS, 'The call was given up: not every question was answered')
  }
  return { messages, pending, answers, variant }
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
