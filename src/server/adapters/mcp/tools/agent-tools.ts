import type { AdapterRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import { startTaken } from '../../../../durable/decisions/taken-row.ts'
import { HostError } from '../../../../errors.ts'
import type { AgentHost, Target } from '../../../../host/host.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import type { RunEventSink } from '../../../../run/run-event.ts'
import type { RunResult, Turn } from '../../../../run/turn.ts'
import type { Redact } from '../../../../trace/redact.ts'
import { ENTRY } from '../../../../wiring/wiring.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'
import type { LoggedRequest } from '../../../monitoring/request-log.ts'
import { logFailureInside } from '../../../replies/error-replies.ts'
import type { CallMemory, WaitingCall } from '../call-memory/call-memory.ts'
import { describeOpen } from '../elicitation/describe-open.ts'
import { type ElicitationResponse, toPendingAnswer } from '../elicitation/elicitation.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError } from '../json-rpc.ts'
import { AgentResources, type ListResult, type ReadResult } from '../resources/agent-resources.ts'
import { SKILLS_EXTENSION, type SkillEntry, type SkillList } from '../resources/agent-skills.ts'
import { CallTasks, type CallTasksOptions, type TaskCall, type TaskClient } from './call-tasks.ts'
import { coalesceProgress, type ProgressSink } from './coalesce-progress.ts'
import { toContent } from './content.ts'
import { ToolCatalog, type ToolInput } from './tool-catalog.ts'
import { type CallTask, type ToolResult, withStructure } from './tool-result.ts'

/** A call under way. */
export interface Call<R> {
  /** Turns the outcome into an answer. One promise for all of it: promises are most of the cost of a plain call. */
  answer<T>(
    onResult: (result: R) => T | PromiseLike<T>,
    onFailure: (error: JsonRpcError) => T | PromiseLike<T>,
  ): Promise<T>
  abort(reason: string): void
}

/** Sender of a request. */
export interface Caller {
  readonly tenant: string
  /** Request that it came with: the log of a failure names it. */
  readonly source: LoggedRequest
  /** Opens the variant that the request names; no promise where it names none. Absent where requests have no headers. */
  readonly variantOf?: (name: string) => Promise<Turn['variant']> | undefined
}

export interface CallOptions extends Caller {
  /** Version of MCP that the client speaks. */
  readonly version: string
  /** Address of the server as the client knows it; undefined over stdio. */
  readonly baseUrl: string | undefined
  /** Trace context of the call. */
  readonly traceparent: string | undefined
  /** True for a client that can follow tasks. */
  readonly takesTasks?: boolean
  /** Receives the agent's text and progress while it works. */
  readonly onProgress?: ProgressSink | undefined
  /** Present when the client can ask its user; continues a waiting call with its state and the responses by call id. */
  readonly elicitation?: {
    readonly state: string | undefined
    readonly responses: Readonly<Record<string, ElicitationResponse>>
    /** Name of the person who answers. */
    readonly by: string
  }
}

type Answered = NonNullable<CallOptions['elicitation']>

/** Checked request to call a tool. */
interface ToolRequest {
  readonly name: string
  readonly info: AgentInfo
  readonly input: ToolInput
}

/** Part of a turn that depends on earlier calls. */
type GivenTurn = Pick<Turn, 'messages' | 'pending' | 'answers' | 'variant'>

export interface AgentToolsOptions {
  /** Takes the runs whose clients cannot be asked. */
  readonly runs: AdapterRuns
  /** True where links to what waits lead somewhere. */
  readonly servesInbox: boolean
  readonly host: AgentHost
  readonly describeFailure: (error: unknown) => string
  readonly limits: HistoryLimits & Pick<CallTasksOptions, 'retentionDays'>
  readonly memory: CallMemory
  readonly redact: Redact
}

/** Agents as tools, for every protocol version and transport. */
export class AgentTools {
  readonly #options: AgentToolsOptions
  readonly #catalog = new ToolCatalog()
  readonly #tasks: CallTasks
  readonly resources: AgentResources

  constructor(options: AgentToolsOptions) {
    this.#options = options
    const { host, redact, memory, runs, servesInbox, limits } = options
    this.resources = new AgentResources({ host, redact, memory })
    const { retentionDays } = limits
    this.#tasks = new CallTasks({ host, runs, servesInbox, retentionDays, catalog: this.#catalog })
  }

  /** @throws JsonRpcError `INVALID_PARAMS` */
  list(cursor: unknown) {
    return this.#catalog.list(this.#options.host.list(), cursor)
  }

  /**
   * Starts a call.
   *
   * @throws JsonRpcError `INVALID_PARAMS` when there is no such agent or the arguments do not fit
   */
  call(params: Readonly<Record<string, unknown>>, options: CallOptions): Call<ToolResult> {
    try {
      const request = this.#readRequest(params)
      const isNew = options.elicitation?.state === undefined
      if (options.takesTasks && request.info.tasks && isNew) return this.#startTask(request, options)
      const later = this.#goOn(request, options)
      if (later) return deferCall(later, (error) => this.#toRpcError(error, options.source))
      return this.#start(request, { messages: [toMessage(request)] }, options)
    } catch (error) {
      throw this.#toRpcError(error, options.source)
    }
  }

  /** Starts to read a resource; it cannot be stopped. */
  read(params: Readonly<Record<string, unknown>>, { tenant, source }: Caller): Call<ReadResult> {
    return this.#toCall(this.resources.read(params, tenant), source)
  }

  /** Starts to list the resources; it cannot be stopped. */
  listResources(cursor: unknown, { tenant, source }: Caller): Call<ListResult> {
    return this.#toCall(this.resources.list(cursor, tenant), source)
  }

  /** Starts to list the skills; it cannot be stopped. */
  listSkills(cursor: unknown, { tenant, source }: Caller): Call<SkillList> {
    return this.#toCall(this.resources.skills.list(cursor, tenant), source)
  }

  /** Starts to get one skill; it cannot be stopped. */
  getSkill(params: Readonly<Record<string, unknown>>, { tenant, source }: Caller): Call<{ skill: SkillEntry }> {
    return this.#toCall(this.resources.skills.get(params, tenant), source)
  }

  /** Starts to read a task; it cannot be stopped. */
  getTask(params: Readonly<Record<string, unknown>>, client: TaskClient, source: LoggedRequest): Call<CallTask> {
    return this.#toCall(this.#tasks.get(params, client), source)
  }

  /** Starts to hand the responses of a person to a task; it cannot be stopped. */
  updateTask(
    params: Readonly<Record<string, unknown>>,
    responses: Answered['responses'],
    client: TaskClient,
    source: LoggedRequest,
  ): Call<void> {
    return this.#toCall(this.#tasks.update(params, responses, client), source)
  }

  /** Starts to cancel a task; it cannot be stopped. */
  cancelTask(params: Readonly<Record<string, unknown>>, client: TaskClient, source: LoggedRequest): Call<void> {
    return this.#toCall(this.#tasks.cancel(params, client), source)
  }

  /** Tells whether calls of some agent become tasks. */
  get hasTasks(): boolean {
    return this.#options.host.list().some(({ tasks }) => tasks)
  }

  /** Capabilities beside tools, where agents expose something. */
  get moreCapabilities(): { resources?: object; extensions?: Record<string, Record<string, never>> } {
    return {
      ...(this.resources.isEmpty ? {} : { resources: {} }),
      ...(this.resources.skills.isEmpty ? {} : { extensions: { [SKILLS_EXTENSION]: {} } }),
    }
  }

  /** Closes the memory of earlier calls. */
  close(): Promise<void> {
    return this.#options.memory.close()
  }

  #toCall<R>(work: Promise<R>, source: LoggedRequest): Call<R> {
    return {
      answer: (onResult, onFailure) =>
        work.then(onResult, (error: unknown) => onFailure(this.#toRpcError(error, source))),
      abort: () => {},
    }
  }

  #readRequest({ name, arguments: given }: Readonly<Record<string, unknown>>): ToolRequest {
    if (typeof name !== 'string' || name === '') {
      throw new JsonRpcError(INVALID_PARAMS, 'Invalid params: name must be the name of an agent')
    }
    const { agent: info } = this.#options.host.resolve(name, '.')
    return { name, info, input: this.#catalog.readArguments(info, given) }
  }

  #start(
    request: ToolRequest,
    given: GivenTurn,
    options: CallOptions,
    begin = (turn: Turn) => this.#options.host.start(request.name, turn, '.'),
  ): Call<ToolResult> {
    const { onProgress, source, tenant, traceparent } = options
    const turn = {
      tenant,
      traceparent,
      input: request.input.input,
      onEvent: onProgress && toProgress(onProgress),
      ...given,
    }
    const handle = begin(turn)
    const toRpcError = (error: unknown) => this.#toRpcError(error, source)
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

  /** Starts a call as a task. A client that leaves before it knows of the task leaves nothing behind. */
  #startTask(request: ToolRequest, options: CallOptions): Call<ToolResult> {
    const { source } = options
    const client: TaskClient = { ...options, decider: options.elicitation?.by }
    let hasLeft = false
    const start = async (): Promise<ToolResult> => {
      const task = await this.#tasks.start(await this.#toTaskCall(request, options), client)
      if (hasLeft) await this.#tasks.cancel({ taskId: task.taskId }, client)
      return { content: [], task }
    }
    return {
      ...this.#toCall(start(), source),
      abort: () => {
        hasLeft = true
      },
    }
  }

  async #toTaskCall({ name, input }: ToolRequest, { traceparent, variantOf }: CallOptions): Promise<TaskCall> {
    const variant = await variantOf?.(name)
    return { agent: nameOf(this.#options.host.resolve(name, '.')), input, variant, traceparent }
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
    return this.#start(request, { messages, variant }, options)
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
      return this.#start(request, turn, options, startTaken(taken, reservation.start))
    } finally {
      reservation.release()
    }
  }

  async #continue(memory: CallMemory, id: string, agentId: string, message: Message): Promise<readonly Message[]> {
    const earlier = await memory.readConversation(id, agentId)
    if (earlier) return this.#bounded([...earlier, message])
    throw new JsonRpcError(INVALID_PARAMS, 'Invalid params: conversation_id is unknown, or was forgotten')
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
    const present = () => (info.output ? withStructure(content, text, info.output, this.#catalog) : { content })
    if (!info.conversation) return present()
    const conversation = { agentId: info.id, messages: [...messages, { role: 'assistant' as const, content: text }] }
    const memory = this.#options.memory.of(tenant)
    return memory.writeConversation(input.conversationId, conversation).then((id) => {
      // In the text, because models see nothing else.
      content.push({ type: 'text', text: `conversation_id: ${id}` })
      return present()
    })
  }

  #toRpcError(error: unknown, source: LoggedRequest): JsonRpcError {
    if (error instanceof JsonRpcError) return error
    if (error instanceof HostError) {
      if (error.code === 'AGENT_NOT_FOUND') return new JsonRpcError(INVALID_PARAMS, `Invalid params: ${error.message}`)
      if (error.code === 'REQUEST_INVALID') return new JsonRpcError(INVALID_PARAMS, `Invalid params: ${error.message}`)
      if (error.code === 'OVERLOADED' || error.code === 'SHUTTING_DOWN') {
        return new JsonRpcError(INTERNAL_ERROR, error.message)
      }
    }
    const { describeFailure } = this.#options
    logFailureInside(error, source)
    return new JsonRpcError(INTERNAL_ERROR, describeFailure(error))
  }
}

function toMessage({ input }: Pick<ToolRequest, 'input'>): Message {
  return { role: 'user', content: input.text }
}

function unknownState(): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, 'Invalid params: requestState is unknown, or was answered before')
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

/** A call that starts later: an earlier abort takes effect as soon as it starts. */
function deferCall<R>(beginning: Promise<Call<R>>, toRpcError: (error: unknown) => JsonRpcError): Call<R> {
  return {
    answer: (onResult, onFailure) =>
      beginning.then(
        (call) => call.answer(onResult, onFailure),
        (error: unknown) => onFailure(toRpcError(error)),
      ),
    abort: (reason) =>
      void beginning.then(
        (call) => call.abort(reason),
        () => {},
      ),
  }
}

/** Name by which other protocols call an agent at an entry point. */
function nameOf({ agent, entryPoint }: Target): string {
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
