import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject } from '../../../json.ts'
import { readTraceparent } from '../../bodies/read-traceparent.ts'
import type { CallMemory } from './call-memory/call-memory.ts'
import { type ElicitationResponse, toElicitation } from './elicitation/elicitation.ts'
import { Elicitations } from './elicitation/elicitations.ts'
import {
  failure,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  idOf,
  invalidParams,
  isNotification,
  isSameId,
  JsonRpcError,
  METHOD_NOT_FOUND,
  NOTHING,
  notification,
  type Request,
  type RequestId,
  readMessage,
  success,
} from './json-rpc.ts'
import { SERVER_INFO } from './server-info.ts'
import { type AgentTools, BatchReads, isRead, type Reader, tooLong } from './tools/agent-tools.ts'
import { type Call, type CallOptions, toCall } from './tools/call.ts'
import type { ToolResult } from './tools/tool-result.ts'
import { negotiate } from './versions.ts'

/** Client of a request. */
export interface Peer extends Reader {
  /** Version of MCP that it speaks. */
  readonly version: string
  /** Name of its session, a secret between both sides; undefined when it has none, and so cannot cancel. */
  readonly key: string | undefined
  /** Address of the server as it knows it. */
  readonly baseUrl: string
  /** Trace context of the HTTP request. */
  readonly traceparent: string | undefined
  /** Name of the person who answers questions; undefined if the client cannot ask. */
  readonly decider: string | undefined
  readonly variantOf?: CallOptions['variantOf']
}

interface CallInFlightOptions {
  readonly tools: AgentTools
  readonly elicitations: Elicitations
  /** Called before the answer is given. */
  readonly onEnd: (call: CallInFlight) => void
}

type AnyCall = Call<ToolResult | object>
type Waiting = NonNullable<ToolResult['waiting']>
type Answered = Omit<NonNullable<CallOptions['elicitation']>, 'by'>

/** The only version that knows batches. */
const BATCH_VERSION = '2025-03-26'
const MAX_BATCH = 100

/** A call that is not answered yet. */
export class CallInFlight {
  readonly id: RequestId
  /** Token for progress notifications, chosen by the client. */
  readonly progressToken: unknown
  /** The answer, as JSON text. Fails only where a question cannot be sent. */
  readonly answer: Promise<string>
  readonly peer: Peer
  /** Takes progress, from now on. A promise holds the agent back. */
  onProgress: ((message: string) => void | Promise<void>) | undefined
  /** Takes requests to the client, each as JSON text. */
  onQuestion: ((message: string) => void) | undefined
  readonly #request: Request & { id: RequestId }
  readonly #options: CallInFlightOptions
  /** Undefined unless the client can be asked: a signal for every call costs too much. */
  readonly #leaving: AbortController | undefined
  /** The one under way: another after each question. */
  #call: AnyCall
  #progress = 0

  constructor(request: Request & { id: RequestId }, peer: Peer, options: CallInFlightOptions) {
    const meta = request.params._meta
    this.id = request.id
    this.peer = peer
    this.progressToken = isObject(meta) ? meta.progressToken : undefined
    this.#request = request
    this.#options = options
    this.#leaving = this.mayAsk ? new AbortController() : undefined
    this.#call = this.#begin(peer.decider === undefined ? undefined : { state: undefined, responses: {} })
    this.answer = this.#answer()
  }

  abort(reason: string): void {
    this.#call.abort(reason)
    this.#leaving?.abort(new JsonRpcError(INTERNAL_ERROR, reason))
  }

  /** Says that the client of this call can be asked while it waits. */
  get mayAsk(): boolean {
    return this.peer.decider !== undefined
  }

  #begin(answered: Answered | undefined): AnyCall {
    const { tools } = this.#options
    const { method, params } = this.#request
    const { version, tenant, source, baseUrl, decider = '', variantOf } = this.peer
    const onProgress = this.progressToken === undefined ? undefined : (text: string) => this.onProgress?.(text)
    const elicitation = answered && { ...answered, by: decider }
    if (isRead(method)) return toCall(tools.read(method, params, this.peer))
    return tools.call(params, {
      version,
      tenant,
      source,
      baseUrl,
      traceparent: traceparentOf(params) ?? this.peer.traceparent,
      onProgress,
      elicitation,
      variantOf,
    })
  }

  #answer(): Promise<string> {
    return this.#call.answer(
      (result) => {
        if ('waiting' in result && result.waiting) return this.#ask(result.waiting as Waiting)
        this.#options.onEnd(this)
        return success(this.id, result)
      },
      (error) => this.#fail(error),
    )
  }

  /** Asks the client one question after the other, and continues with its answers. The run has ended meanwhile: no process waits. */
  async #ask({ state, pending }: Waiting): Promise<string> {
    const { elicitations } = this.#options
    const responses: Record<string, ElicitationResponse> = {}
    try {
      for (const call of pending) {
        const question = await elicitations.open(toElicitation(call), this.peer, this.#leaving?.signal)
        const asked = (async () => this.onQuestion?.(question.message))()
        const [response] = await Promise.all([question.response, asked])
        responses[call.callId] = response
      }
      this.#call = this.#begin({ state, responses })
      return await this.#answer()
    } catch (error) {
      // A client that cannot read its questions has left.
      if (!(error instanceof JsonRpcError)) this.#leaving?.abort(error)
      // Where the store is down it expires.
      if (this.#leaving?.signal.aborted) await this.#options.tools.giveUp(state, this.peer.tenant).catch(() => {})
      if (error instanceof JsonRpcError) return this.#fail(error)
      this.#options.onEnd(this)
      throw error
    }
  }

  #fail({ code, message }: JsonRpcError): string {
    this.#options.onEnd(this)
    return failure(this.id, code, message)
  }

  /** A piece of progress, as JSON text. Its number counts up; how much is to come is not known. */
  tellProgress(message: string): string {
    const { progressToken } = this
    return notification('notifications/progress', { progressToken, progress: ++this.#progress, message })
  }
}

/**
 * MCP in its versions from 2024-11-05 to 2025-11-25, without sessions: each request is answered by itself. The part of them that a
 * server of tools has, by hand, since it is what most requests are.
 */
export class HandshakeProtocol {
  readonly #tools: AgentTools
  readonly #pending = new Set<CallInFlight>()
  readonly #elicitations: Elicitations
  readonly #onEnd = (call: CallInFlight): void => {
    this.#pending.delete(call)
  }

  constructor(tools: AgentTools, memory: CallMemory) {
    this.#tools = tools
    this.#elicitations = new Elicitations(memory)
  }

  /** Answers one message with JSON text, with {@link NOTHING}, or with a call that is to be waited for. */
  answer(value: unknown, peer: Peer): string | CallInFlight {
    try {
      const message = readMessage(value)
      if (!message) {
        this.#elicitations.take(value, peer)
        return NOTHING
      }
      if (message.id !== undefined) return this.#answer({ ...message, id: message.id }, peer)
      this.#handleNotification(message, peer)
      return NOTHING
    } catch (error) {
      return isNotification(value) ? NOTHING : toFailure(idOf(value), error)
    }
  }

  /** Answers all messages of a batch together. */
  async answerBatch(values: readonly unknown[], peer: Peer, onCall: (call: CallInFlight) => void): Promise<string> {
    const refusal = checkBatch(values, peer)
    if (refusal !== undefined) return failure(null, INVALID_REQUEST, `Invalid Request: ${refusal}`)
    const batch = new BatchReads()
    const answers: (string | Promise<string>)[] = []
    for (const value of values) {
      // A call that begins after the client has left would never be aborted.
      if (peer.answer?.destroyed) break
      answers.push(this.#answerInBatch(value, { ...peer, batch }, onCall))
      // Other requests get their turn: each message may list all agents, or search them for an unknown name.
      await nextTurn()
    }
    const replies = (await Promise.all(answers)).filter((answer) => answer !== NOTHING)
    return replies.length === 0 ? NOTHING : `[${replies.join(',')}]`
  }

  #answerInBatch(
    value: unknown,
    peer: Peer & { readonly batch: BatchReads },
    onCall: (call: CallInFlight) => void,
  ): string | Promise<string> {
    const answer = this.answer(value, peer)
    if (answer === NOTHING) return answer
    if (typeof answer === 'string') return peer.batch.admits(answer.length) ? answer : toFailure(idOf(value), tooLong())
    onCall(answer)
    // A call may fail before the later ones have begun; `Promise.all` then reports it.
    answer.answer.catch(() => {})
    return answer.answer
  }

  #answer(request: Request & { id: RequestId }, peer: Peer): string | CallInFlight {
    const { id, method, params } = request
    switch (method) {
      case 'initialize':
        return success(id, this.#initialize(params))
      case 'ping':
        return success(id, {})
      case 'tools/list':
        return success(id, this.#tools.list(params.cursor))
      case 'tools/call':
        return this.#call(request, peer)
      default:
        return this.#answerResources(request, peer)
    }
  }

  #answerResources(request: Request & { id: RequestId }, peer: Peer): string | CallInFlight {
    const { id, method } = request
    const { resources } = this.#tools
    if (!resources.skills.isEmpty && (method === 'skills/list' || method === 'skills/get'))
      return this.#call(request, peer)
    if (!resources.isEmpty) {
      if (method === 'resources/templates/list') return success(id, resources.listTemplates())
      if (method === 'resources/list' || method === 'resources/read') return this.#call(request, peer)
    }
    throw new JsonRpcError(METHOD_NOT_FOUND, `Method not found: ${method}`)
  }

  #initialize({ protocolVersion }: Request['params']): object {
    if (typeof protocolVersion !== 'string') {
      throw invalidParams('protocolVersion must be a string')
    }
    return {
      protocolVersion: negotiate(protocolVersion),
      capabilities: { tools: {}, ...this.#tools.moreCapabilities },
      serverInfo: SERVER_INFO,
    }
  }

  #call(request: Request & { id: RequestId }, peer: Peer): CallInFlight {
    const [tools, elicitations, onEnd] = [this.#tools, this.#elicitations, this.#onEnd]
    const call = new CallInFlight(request, peer, { tools, elicitations, onEnd })
    this.#pending.add(call)
    return call
  }

  /** Of all notifications only one asks for something. */
  #handleNotification({ method, params }: Request, peer: Peer): void {
    if (method !== 'notifications/cancelled' || peer.key === undefined) return
    const { requestId, reason } = params
    // An id may be a number or a text: 1 is not "1".
    const [call, another] = [...this.#pending].filter(
      (other) => isSameId(other.id, requestId) && other.peer.key === peer.key && other.peer.tenant === peer.tenant,
    )
    // Two of the same name: better that both go on than that the wrong one ends.
    if (call && !another) call.abort(typeof reason === 'string' ? reason : 'The client has cancelled the request.')
  }
}

function checkBatch(values: readonly unknown[], { version }: Peer): string | undefined {
  if (version !== BATCH_VERSION) return `version ${version} of the protocol has no batches`
  if (values.length === 0) return 'a batch must hold a message'
  if (values.length > MAX_BATCH) return `a batch may hold ${MAX_BATCH} messages`
  if (values.some((value) => isObject(value) && value.method === 'initialize')) {
    return 'initialize must not be part of a batch'
  }
  return undefined
}

function toFailure(id: RequestId | null, error: unknown): string {
  if (error instanceof JsonRpcError) return failure(id, error.code, error.message)
  throw error
}

/** The client's own, of this call: the HTTP request may carry several. */
function traceparentOf({ _meta }: Readonly<Record<string, unknown>>): string | undefined {
  return isObject(_meta) ? readTraceparent(_meta.traceparent) : undefined
}
