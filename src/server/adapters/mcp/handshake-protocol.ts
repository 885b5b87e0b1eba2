import type { ListResult, ReadResult } from './agent-resources.ts'
import type { AgentTools, Call, ToolResult } from './agent-tools.ts'
import {
  failure,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idOf,
  isNotification,
  isObject,
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
import { negotiate } from './versions.ts'

/** Client of a request. */
export interface Peer {
  /** Version of MCP that it speaks. */
  readonly version: string
  /** Name of its session, which nobody else knows; undefined when it has none, and so cannot cancel. */
  readonly key: string | undefined
  /** Of its HTTP request. */
  readonly requestId: string
}

/** The only version that knows batches. */
const BATCH_VERSION = '2025-03-26'
const MAX_BATCH = 100

/** A call that is not answered yet. */
export class PendingCall {
  readonly id: RequestId
  /** The token that the client wants its progress told by. */
  readonly progressToken: unknown
  /** The answer, as JSON text. Never fails. */
  readonly answer: Promise<string>
  readonly peer: Peer
  /** Takes progress, from now on. A promise holds the agent back. */
  onProgress: ((message: string) => void | Promise<void>) | undefined
  readonly #call: Call<ToolResult | ReadResult | ListResult>
  #progress = 0

  /** @param onEnd called before the answer is given */
  constructor(
    { id, method, params }: Request & { id: RequestId },
    peer: Peer,
    tools: AgentTools,
    onEnd: (call: PendingCall) => void,
  ) {
    const meta = params._meta
    this.id = id
    this.peer = peer
    this.progressToken = isObject(meta) ? meta.progressToken : undefined
    const onProgress = this.progressToken === undefined ? undefined : (text: string) => this.onProgress?.(text)
    const { version, requestId } = peer
    if (method === 'tools/call') this.#call = tools.call(params, { version, requestId, onProgress })
    else if (method === 'resources/read') this.#call = tools.read(params, requestId)
    else this.#call = tools.listResources(params.cursor, requestId)
    this.answer = this.#call.answer<string>(
      (result) => {
        onEnd(this)
        return success(id, result)
      },
      ({ code, message }) => {
        onEnd(this)
        return failure(id, code, message)
      },
    )
  }

  abort(reason: string): void {
    this.#call.abort(reason)
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
  readonly #pending = new Set<PendingCall>()
  readonly #onEnd = (call: PendingCall): void => {
    this.#pending.delete(call)
  }

  constructor(tools: AgentTools) {
    this.#tools = tools
  }

  /** Answers one message with JSON text, with {@link NOTHING}, or with a call that is to be waited for. */
  answer(value: unknown, peer: Peer): string | PendingCall {
    try {
      const message = readMessage(value)
      if (!message) return NOTHING
      if (message.id !== undefined) return this.#answer({ ...message, id: message.id }, peer)
      this.#hear(message, peer)
      return NOTHING
    } catch (error) {
      return isNotification(value) ? NOTHING : explain(idOf(value), error)
    }
  }

  /** Answers all messages of a batch together. */
  async answerBatch(values: readonly unknown[], peer: Peer, onCall: (call: PendingCall) => void): Promise<string> {
    const refusal = checkBatch(values, peer)
    if (refusal !== undefined) return failure(null, INVALID_REQUEST, `Invalid Request: ${refusal}`)
    const answers = values.map((value) => {
      const answer = this.answer(value, peer)
      if (typeof answer === 'string') return answer
      onCall(answer)
      return answer.answer
    })
    const told = (await Promise.all(answers)).filter((answer) => answer !== NOTHING)
    return told.length === 0 ? NOTHING : `[${told.join(',')}]`
  }

  #answer(request: Request & { id: RequestId }, peer: Peer): string | PendingCall {
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

  #answerResources(request: Request & { id: RequestId }, peer: Peer): string | PendingCall {
    const { id, method } = request
    const { resources } = this.#tools
    if (!resources.isEmpty) {
      if (method === 'resources/templates/list') return success(id, resources.listTemplates())
      if (method === 'resources/list' || method === 'resources/read') return this.#call(request, peer)
    }
    throw new JsonRpcError(METHOD_NOT_FOUND, `Method not found: ${method}`)
  }

  #initialize({ protocolVersion }: Request['params']): object {
    if (typeof protocolVersion !== 'string') {
      throw new JsonRpcError(INVALID_PARAMS, 'Invalid params: protocolVersion must be a string')
    }
    return {
      protocolVersion: negotiate(protocolVersion),
      capabilities: { tools: {}, ...(this.#tools.resources.isEmpty ? {} : { resources: {} }) },
      serverInfo: SERVER_INFO,
    }
  }

  #call(request: Request & { id: RequestId }, peer: Peer): PendingCall {
    const call = new PendingCall(request, peer, this.#tools, this.#onEnd)
    this.#pending.add(call)
    return call
  }

  /** Of all notifications only one asks for something. */
  #hear({ method, params }: Request, peer: Peer): void {
    if (method !== 'notifications/cancelled' || peer.key === undefined) return
    const { requestId, reason } = params
    // An id may be a number or a text: 1 is not "1".
    const [call, another] = [...this.#pending].filter(
      (other) => isSameId(other.id, requestId) && other.peer.key === peer.key,
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

function explain(id: RequestId | null, error: unknown): string {
  if (error instanceof JsonRpcError) return failure(id, error.code, error.message)
  throw error
}
