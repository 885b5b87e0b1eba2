import type { Turn } from '../../../../run/turn.ts'
import type { LoggedRequest } from '../../../monitoring/request-log.ts'
import type { ElicitationResponse } from '../elicitation/elicitation.ts'
import type { JsonRpcError } from '../json-rpc.ts'
import type { ProgressSink } from './coalesce-progress.ts'

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

/** Work that is under way, as a call. */
export function toCall<R>(work: Promise<R>, abort: () => void = () => {}): Call<R> {
  return { answer: (onResult, onFailure) => work.then(onResult, onFailure), abort }
}

/** A call that starts later: an earlier abort takes effect as soon as it starts. */
export function deferCall<R>(beginning: Promise<Call<R>>, toRpcError: (error: unknown) => JsonRpcError): Call<R> {
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
