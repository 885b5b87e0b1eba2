import type { Attributes, Context, Link, Span, SpanContext, SpanKind, Tracer } from '@opentelemetry/api'
import { Response } from '../protocols/response.ts'
import type { Redact } from '../redaction/redact.ts'
import type { AgentEvent } from '../run/calls/agent-events.ts'
import type { RunEnd } from '../run/turn.ts'
import { type ParsedException, parseException } from './parse-exception.ts'
import {
  type Operation,
  type SpanDescription,
  toCallSpan,
  toEndAttributes,
  toResultAttributes,
  toRunSpan,
} from './to-span.ts'
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

interface NewSpan extends SpanDescription {
  readonly links?: Link[]
}

/** A run under way, or the calls of modules that all runs share. */
interface OpenRun {
  /** Undefined outside of any run. */
  readonly span: Span | undefined
  readonly context: Context
  /** Calls under way, by id. */
  readonly calls: Map<string, OpenCall>
  /** Latest failure of a call of the agent itself. */
  failure: ParsedException | undefined
}

const MAX_OPEN_SPANS = 100_000
/** Cancelled runs whose late calls are left out. */
const MAX_CANCELLED = 1000

/**
 * Creates a span for each run and each of its calls. It receives every step of every agent, so it only takes notes: expensive work is
 * up to the span processor.
 */
export class RunSpans {
  readonly #maker: SpanMaker
  readonly #runs = new Map<string, OpenRun>()
  readonly #cancelled = new Set<string>()
  readonly #maxOpenSpans: number
  #openSpans = 0

  constructor(maker: SpanMaker, maxOpenSpans = MAX_OPEN_SPANS) {
    this.#maker = maker
    this.#maxOpenSpans = maxOpenSpans
  }

  add(event: AgentEvent): void {
    // Each piece of a streamed answer is a call: a thousand spans for one answer would push out the useful ones.
    if (event.protocol === Response.name) return
    if (event.event_type === 'call') this.#begin(event)
    else this.#finish(event)
  }

  /** Ends the span of a run, and those of its calls that are still open. Later calls of its code get none. */
  endRun(end: RunEnd): void {
    const { runId, startedAt, durationMs, status } = end
    if (status === 'cancelled') this.#noteCancelled(runId)
    const run = this.#runs.get(runId)
    if (!run) return
    const timeMs = startedAt * 1000 + durationMs
    run.span?.setAttributes(toEndAttributes(end))
    const failure = failureOf(status, run.failure)
    this.#closeCalls(run, timeMs, status === 'cancelled' ? 'cancelled' : 'unfinished', 'the run has ended')
    if (failure && run.span) this.#markFailed(run.span, failure.type, failure.message)
    this.#closeRun(runId, run, timeMs)
  }

  endAll(): void {
    for (const key of [...this.#runs.keys()]) this.#close(key, 'the server has stopped')
  }

  #begin(event: AgentEvent): void {
    if (this.#openSpans >= this.#maxOpenSpans) this.#dropOldest()
    const run = this.#runs.get(keyOf(event)) ?? this.#open(event)
    if (!run) return
    const { api } = this.#maker
    const parent = run.calls.get(event.parent_call_id ?? '')?.context ?? run.context
    const { name, operation, attributes } = toCallSpan(event)
    const kind = operation === 'chat' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
    const { span, context } = this.#start(event, { name, attributes }, kind, parent)
    run.calls.set(event.call_id, { span, context, operation })
  }

  /** Begins a run with the first call of the agent; a call within one that is not known any more begins none. */
  #open(event: AgentEvent): OpenRun | undefined {
    const { run_id, parent_call_id } = event
    if (parent_call_id !== null || (run_id !== null && this.#cancelled.has(run_id))) return undefined
    const root = run_id === null ? { span: undefined, context: this.#maker.api.ROOT_CONTEXT } : this.#startRun(event)
    const run: OpenRun = { ...root, calls: new Map(), failure: undefined }
    this.#runs.set(keyOf(event), run)
    return run
  }

  /** The caller of a background run does not wait for it: its span is not within the caller's. */
  #startRun(event: AgentEvent) {
    const { ROOT_CONTEXT, SpanKind, trace } = this.#maker.api
    const caller = event.origin ? parseTraceparent(event.origin.traceparent) : undefined
    const isWithin = caller !== undefined && event.origin?.background === false
    const around = this.#contextAround(event) ?? ROOT_CONTEXT
    const parent = isWithin ? trace.setSpanContext(ROOT_CONTEXT, caller) : around
    const links = caller && !isWithin ? [{ context: caller }] : []
    return this.#start(event, { ...toRunSpan(event), links }, SpanKind.INTERNAL, parent)
  }

  /** Context of the call that began a child run. */
  #contextAround({ parent_run_id, parent_run_call_id }: AgentEvent): Context | undefined {
    const parent = parent_run_id === null ? undefined : this.#runs.get(parent_run_id)
    return parent?.calls.get(parent_run_call_id ?? '')?.context ?? parent?.context
  }

  #start(event: AgentEvent, description: NewSpan, kind: SpanKind, parent: Context) {
    const { api, tracer, traceIds } = this.#maker
    const { name, attributes, links = [] } = description
    traceIds.use(event.run_id)
    const span = tracer.startSpan(name, { kind, attributes, links, startTime: event.time * 1000 }, parent)
    this.#openSpans++
    return { span, context: api.trace.setSpan(parent, span) }
  }

  #finish(event: AgentEvent): void {
    const key = keyOf(event)
    const run = this.#runs.get(key)
    const call = run?.calls.get(event.call_id)
    if (!run || !call) return
    run.calls.delete(event.call_id)
    if (event.exception === null) this.#succeed(call, event)
    else this.#fail(run, call, event, event.exception)
    this.#end(call.span, event.time * 1000)
    if (!run.span && run.calls.size === 0) this.#runs.delete(key)
  }

  #succeed({ span, operation }: OpenCall, event: AgentEvent): void {
    const attributes = toResultAttributes(operation, event)
    span.setAttributes(attributes)
    if (attributes['error.type'] !== undefined) span.setStatus({ code: this.#maker.api.SpanStatusCode.ERROR })
  }

  #fail(run: OpenRun, { span }: OpenCall, { time, parent_call_id }: AgentEvent, exception: string): void {
    const failure = parseException(exception, this.#maker.redact)
    const { type, message, stack } = failure
    const attributes: Attributes = {
      'exception.type': type,
      'exception.message': message,
      'exception.stacktrace': stack,
    }
    span.addEvent('exception', attributes, time * 1000)
    this.#markFailed(span, type, message)
    if (parent_call_id === null) run.failure = failure
  }

  /** Ends a run and its calls before their time. */
  #close(key: string, message: string): void {
    const run = this.#runs.get(key)
    if (!run) return
    const nowMs = Date.now()
    this.#closeCalls(run, nowMs, 'unfinished', message)
    if (run.span) this.#markFailed(run.span, 'unfinished', message)
    this.#closeRun(key, run, nowMs)
  }

  #closeCalls({ calls }: OpenRun, timeMs: number, type: string, message: string): void {
    for (const { span } of [...calls.values()].reverse()) {
      this.#markFailed(span, type, message)
      this.#end(span, timeMs)
    }
  }

  #closeRun(key: string, { span }: OpenRun, timeMs: number): void {
    this.#runs.delete(key)
    if (span) this.#end(span, timeMs)
  }

  #end(span: Span, timeMs: number): void {
    this.#openSpans--
    span.end(timeMs)
  }

  /** Some calls never end: the number of open spans is limited. */
  #dropOldest(): void {
    const [oldest] = this.#runs.keys()
    if (oldest !== undefined) this.#close(oldest, 'too many calls are open')
  }

  #noteCancelled(runId: string): void {
    const [oldest] = this.#cancelled
    if (this.#cancelled.size >= MAX_CANCELLED && oldest !== undefined) this.#cancelled.delete(oldest)
    this.#cancelled.add(runId)
  }

  #markFailed(span: Span, type: string, message: string | undefined): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: this.#maker.api.SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) })
  }
}

type Failure = Pick<ParsedException, 'type'> & Partial<ParsedException>

/** Failure of a run; undefined when it ended well or waits. */
function failureOf(status: RunEnd['status'], thrown: ParsedException | undefined): Failure | undefined {
  if (status === 'cancelled') return { type: 'cancelled', message: 'the run has ended' }
  return status === 'failed' ? (thrown ?? { type: '_OTHER' }) : undefined
}

/** Modules that all runs share may call each other outside of any run. */
function keyOf({ run_id, agent_id }: AgentEvent): string {
  return run_id ?? `agent:${agent_id}`
}

function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}
