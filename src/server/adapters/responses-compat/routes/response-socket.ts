import type { FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { deferred } from '../../../../async.ts'
import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import { readEnded, type StepLog } from '../../../../durable/runs/read-run.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { badRequest, HostError, messageOf } from '../../../../errors.ts'
import { fieldsOf, isObject } from '../../../../json.ts'
import type { HeldBytes } from '../../../bodies/byte-budget.ts'
import { refusedField } from '../../../bodies/invalid-field.ts'
import { invalidJson, parseJson } from '../../../bodies/json-body.ts'
import { holdMessage } from '../../../bodies/limit-parsed-bytes.ts'
import { readTraceparent } from '../../../bodies/read-traceparent.ts'
import { makeValidator } from '../../../bodies/validator.ts'
import { limitMessageTime } from '../../../guards/limit-message-time.ts'
import { principalOf } from '../../../guards/principal.ts'
import { deciderOf } from '../../../inbox/may-decide.ts'
import { logMessage, noteAgent } from '../../../monitoring/request-log.ts'
import { V1 } from '../../../replies/dialect.ts'
import { replyFor, toFailure } from '../../../replies/error-replies.ts'
import type { EventStream } from '../../../streams/event-streams.ts'
import { webSocketTransport } from '../../../streams/web-socket-transport.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { isTriggered } from '../compaction/compaction.ts'
import { findMissing } from '../input/find-missing.ts'
import type { IgnoredParts } from '../input/ignored-parts.ts'
import { resumeByApproval } from '../input/resume-by-approval.ts'
import { EventWriter, FRAMES } from '../output/event-writer.ts'
import { sendSteps } from '../output/send-steps.ts'
import { CLIENT_LEFT, endAbandoned } from '../runs/response-run.ts'
import type { ResponseStarter } from '../runs/response-starter.ts'
import { toRecord } from '../runs/to-record.ts'
import { type UnstoredMemory, UnstoredResponses } from '../runs/unstored-responses.ts'
import { type CreateRequest, ExtendedCreateRequest } from './schema.ts'

/** Messages that may wait while a response is in progress, of the size of one request together. */
const MAX_WAITING = 16
/** Time that a message has to arrive, as that of a request. */
const MESSAGE_TIMEOUT_MS = 30_000
const validate = makeValidator(ExtendedCreateRequest)

export interface ResponseSocketOptions
  extends Pick<AdapterOptions, 'host' | 'streams' | 'describeFailure' | 'variantOf'> {
  readonly starter: ResponseStarter
  readonly unstored: UnstoredMemory
  readonly ignored: IgnoredParts
  readonly options: AdapterOptions['options']
}

/** Message that waits for its turn. It becomes text, which counts towards the heap, when its bytes are free. */
interface Waiting {
  readonly data: Buffer
  /** Undefined for a small one. */
  readonly held: HeldBytes | undefined
}

/**
 * A client that asks for responses over a WebSocket: one after the other, each with the events of a stream, one in a frame. Responses
 * that are not stored can be continued as long as the socket is open.
 */
export class ResponseSocket {
  readonly #options: ResponseSocketOptions
  readonly #request: FastifyRequest
  readonly #stream: EventStream
  readonly #unstored: UnstoredResponses
  readonly #waiting: Waiting[] = []
  #isBusy = false
  #isDraining = false
  #leave: (() => void) | undefined

  constructor(socket: WebSocket, request: FastifyRequest, options: ResponseSocketOptions) {
    this.#options = options
    this.#request = request
    this.#unstored = new UnstoredResponses(options.unstored, principalOf(request).tenant)
    this.#stream = options.streams.openOn(webSocketTransport(socket, request.raw.socket), {
      keepAliveMs: options.options.streamingTimeout * 1000,
      onDrain: () => this.#drain(),
      onLeave: () => this.#leave?.(),
    })
    limitMessageTime(socket, request.raw.socket, MESSAGE_TIMEOUT_MS)
    socket.on('message', (data, isBinary) => this.#take(isBinary ? undefined : (data as Buffer)))
    socket.once('close', () => this.#unstored.clear())
    // Invalid frames and oversized messages: the socket closes by itself.
    socket.on('error', ({ message }) => request.log.warn({ reqId: request.id }, `web socket: ${message}`))
  }

  #take(data: Buffer | undefined): void {
    if (data === undefined) this.#fail(badRequest('A message must be text'))
    else this.#queue(data)
  }

  #queue(data: Buffer): void {
    const problem = this.#findProblem(data)
    if (problem) return void this.#fail(problem)
    const message = { data, held: holdMessage(this.#request, data) }
    this.#waiting.push(message)
    message.held?.free?.catch((error) => this.#drop(message, error))
    if (!this.#isBusy) void this.#work()
  }

  /** Refuses a message whose turn has not come. */
  #drop(message: Waiting, error: Error): void {
    const index = this.#waiting.indexOf(message)
    if (index === -1) return
    this.#waiting.splice(index, 1)
    this.#fail(error)
  }

  #findProblem(data: Buffer): HostError | undefined {
    const { bodyLimit } = this.#options.options
    const length = this.#waiting.reduce((sum, waiting) => sum + waiting.data.length, data.length)
    if (this.#waiting.length < MAX_WAITING && length <= bodyLimit) return undefined
    const limit = `${MAX_WAITING} messages, or ${bodyLimit} bytes,`
    return new HostError('OVERLOADED', `More than ${limit} wait for the response in progress`)
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
      if (this.#stream.isOpen) await this.#answer(message)
      message.held?.release()
    }
    this.#isBusy = false
    if (this.#isDraining) this.#stream.end('')
  }

  /** Last frames first. */
  #drain(): void {
    this.#isDraining = true
    if (!this.#isBusy) this.#stream.end('')
  }

  /** Answers a message, and logs its line. */
  async #answer(message: Waiting): Promise<void> {
    const startedMs = performance.now()
    const { statusCode = 200, error } = await this.#serve(message)
    logMessage(this.#request, {
      statusCode: this.#stream.isOpen ? statusCode : undefined,
      elapsedMs: performance.now() - startedMs,
      failure: error === undefined ? undefined : toFailure(error, this.#request),
    })
  }

  /** @returns the error of the message or of its run, and the status of one that was refused */
  async #serve({ data, held }: Waiting): Promise<{ readonly statusCode?: number; readonly error?: unknown }> {
    let previous: string | undefined
    try {
      if (held?.free) await this.#whenFree(held.free)
      if (!this.#stream.isOpen) return {}
      const body = resumeByApproval(readMessage(data.toString()))
      previous = body.previous_response_id ?? undefined
      this.#options.host.resolve(body.model)
      noteAgent(this.#request, body.model)
      this.#options.ignored.find(body, V1, this.#request)
      const { starter, variantOf } = this.#options
      const circumstances = {
        dialect: V1,
        variant: await variantOf(this.#request, body.model),
        traceparent: readTraceparent(this.#request.headers.traceparent),
        decider: deciderOf(this.#request),
        user: principalOf(this.#request).user,
        unstored: this.#unstored,
        untilClientLeaves: () => this.#signal(),
      }
      if (isTriggered(body, true)) {
        await this.#show(await starter.compact(body, circumstances))
        return {}
      }
      const run = await starter.start(body, circumstances)
      await this.#send(run)
      if (run.failure === undefined) return {}
      if (previous !== undefined) this.#unstored.forget(previous)
      return { error: run.failure }
    } catch (error) {
      if (previous !== undefined) this.#unstored.forget(previous)
      return { error, statusCode: this.#fail(error instanceof Error ? error : new Error(messageOf(error))) }
    }
  }

  /** Resolves when the bytes of a message are free, or its client has left. */
  #whenFree(free: Promise<void>): Promise<void> {
    const left = deferred()
    this.#leave = left.resolve
    return Promise.race([free, left.promise])
  }

  /** Shows a response that has ended. */
  async #show(stored: StoredRun): Promise<void> {
    const log = readEnded(stored)
    this.#leave = undefined
    if (log) await this.#sendSteps(log)
  }

  #signal(): AbortSignal {
    const leaving = new AbortController()
    this.#leave = () => leaving.abort(new Error(CLIENT_LEFT))
    return leaving.signal
  }

  async #send(run: DurableRun): Promise<void> {
    const log = run.readAsClient()
    this.#leave = () => {
      log.leave()
      endAbandoned(run, () => run.cancel(CLIENT_LEFT))
    }
    if (!this.#stream.isOpen) return this.#leave()
    await run.stored
    await this.#sendSteps(log)
    this.#leave = undefined
  }

  /** Sends the events of a response, whose end is not the socket's. */
  #sendSteps(log: StepLog): Promise<void> {
    const stream = this.#stream
    return sendSteps(log, new EventWriter(toRecord(log.id, log.facts), 0, FRAMES), {
      get isOpen() {
        return stream.isOpen
      },
      send: (frames) => stream.send(frames),
      end: () => {},
    })
  }

  /**
   * Disconnects a client that keeps sending invalid messages and reads nothing.
   *
   * @returns the HTTP status in the error event
   */
  #fail(error: Error): number {
    const { statusCode, body } = V1.toErrorReply(replyFor(error, this.#options.describeFailure), error)
    const { error: shown } = fieldsOf(body)
    try {
      void this.#stream.send(`${JSON.stringify({ type: 'error', status: statusCode, error: shown })}\n`)
    } catch {
      this.#stream.cut()
    }
    return statusCode
  }
}

/**
 * Returns the request that a message stands for.
 *
 * @throws HostError `REQUEST_INVALID`
 */
function readMessage(text: string): CreateRequest {
  const { type, ...body } = parse(text)
  if (type !== 'response.create') {
    throw badRequest('type must be response.create', { field: 'type' })
  }
  if (body.background === true) {
    throw refusedField('background', 'a socket has no use for it')
  }
  const missing = findMissing(body)
  if (missing) throw missing
  const { value, error } = validate(body)
  if (error) throw error
  return { ...value, stream: true }
}

function parse(text: string): Record<string, unknown> {
  let message: unknown
  try {
    message = parseJson(text)
  } catch (error) {
    throw invalidJson('message', error)
  }
  if (isObject(message)) return message
  throw badRequest('A message must be a JSON object')
}
