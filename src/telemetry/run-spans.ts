import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { AgentEvent } from '../run/calls/call-event.ts'
import type { RunEnd } from '../run/turn.ts'
import type { Redact } from '../trace/redact.ts'
import { describeCall, describeResult, type Operation } from './describe-call.ts'
import { describeException } from './describe-exception.ts'
import type { TraceIds } from './trace-ids.ts'

/** Factory of spans. */
export interface SpanMaker {
  readonly api: Pick<typeof import('@opentelemetry/api'), 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'trace'>
  readonly tracer: Tracer
  readonly traceIds: TraceIds
  readonly redact: Redact
}

interface OpenCall {
  readonly span: Span
  /** Context of its own calls. */
  readonly context: Context
  readonly operation: Operation | undefined
}

/** The calls of one run that are under way, by id. */
interface OpenRun {
  /** Of its first call. */
  readonly context: Context
  readonly calls: Map<string, OpenCall>
}

const MAX_OPEN_CALLS = 100_000

/**
 * Creates a span for each call. It receives every step of every agent, so it only takes notes: expensive work is
 * up to the span processor.
 */
export class RunSpans {
  readonly #maker: SpanMaker
  readonly #runs = new Map<string, OpenRun>()
  readonly #maxOpenCalls: number
  #openCalls = 0

  constructor(maker: SpanMaker, maxOpenCalls = MAX_OPEN_CALLS) {
    this.#maker = maker
    this.#maxOpenCalls = maxOpenCalls
  }

  add(event: AgentEvent): void {
    if (isPieceOfAnswer(event)) return
    if (event.event_type === 'call') this.#begin(event)
    else this.#finish(event)
  }

  /** Ends the spans that the run left open. Later calls of its code get none. */
  endRun({ runId, startedAt, durationMs, status }: RunEnd): void {
    const type = status === 'cancelled' ? 'cancelled' : 'unfinished'
    this.#endRun(runId, startedAt * 1000 + durationMs, type, 'the run has ended')
  }

  endAll(): void {
    for (const key of [...this.#runs.keys()]) this.#endRun(key, Date.now(), 'unfinished', 'the server has stopped')
  }

  #begin(event: AgentEvent): void {
    if (this.#openCalls >= this.#maxOpenCalls) this.#dropOldest()
    const { api, tracer, traceIds } = this.#maker
    const key = keyOf(event)
    let run = this.#runs.get(key)
    const parent = this.#parentOf(event, run)
    if (!parent) return
    const { name, operation, attributes } = describeCall(event)
    const kind = operation === 'chat' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
    traceIds.use(event.run_id)
    const span = tracer.startSpan(name, { kind, attributes, startTime: event.time * 1000 }, parent)
    const context = api.trace.setSpan(parent, span)
    run ??= { context, calls: new Map() }
    run.calls.set(event.call_id, { span, context, operation })
    this.#runs.set(key, run)
    this.#openCalls++
  }

  /** Undefined for a call within one that is not known any more, when nothing else of the run is. */
  #parentOf({ parent_call_id }: AgentEvent, run: OpenRun | undefined): Context | undefined {
    const { ROOT_CONTEXT } = this.#maker.api
    if (parent_call_id === null) return run?.context ?? ROOT_CONTEXT
    return run?.calls.get(parent_call_id)?.context ?? run?.context
  }

  #finish(event: AgentEvent): void {
    const key = keyOf(event)
    const run = this.#runs.get(key)
    const call = run?.calls.get(event.call_id)
    if (!run || !call) return
    run.calls.delete(event.call_id)
    this.#openCalls--
    if (run.calls.size === 0) this.#runs.delete(key)
    if (event.exception === null) this.#succeed(call, event)
    else this.#fail(call.span, event.exception, event.time * 1000)
    call.span.end(event.time * 1000)
  }

  #succeed({ span, operation }: OpenCall, { result }: AgentEvent): void {
    const attributes = describeResult(operation, result)
    span.setAttributes(attributes)
    if (attributes['error.type'] !== undefined) span.setStatus({ code: this.#maker.api.SpanStatusCode.ERROR })
  }

  #fail(span: Span, exception: string, timeMs: number): void {
    const { type, message, stack } = describeException(exception, this.#maker.redact)
    const attributes: Attributes = {
      'exception.type': type,
      'exception.message': message,
      'exception.stacktrace': stack,
    }
    span.addEvent('exception', attributes, timeMs)
    this.#markFailed(span, type, message)
  }

  #endRun(key: string, timeMs: number, type: string, message: string): void {
    const run = this.#runs.get(key)
    if (!run) return
    this.#runs.delete(key)
    this.#openCalls -= run.calls.size
    for (const { span } of [...run.calls.values()].reverse()) {
      this.#markFailed(span, type, message)
      span.end(timeMs)
    }
  }

  /** Some calls never end: the number of open ones is limited. */
  #dropOldest(): void {
    const [oldest] = this.#runs.keys()
    if (oldest !== undefined) this.#endRun(oldest, Date.now(), 'unfinished', 'too many calls are open')
  }

  #markFailed(span: Span, type: string, message: string): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: this.#maker.api.SpanStatusCode.ERROR, message })
  }
}

/** Each piece of a streamed answer is a call: a thousand spans for one answer would push out the useful ones. */
function isPieceOfAnswer({ module_id, method_name }: AgentEvent): boolean {
  return module_id === '__response__' && method_name === 'respondText'
}

/** Modules that all runs share may call each other outside of any run. */
function keyOf({ run_id, agent_id }: AgentEvent): string {
  return run_id ?? `agent:${agent_id}`
}
