import type { Writable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type Deferred, deferred } from '../../async.ts'

/** Maximum number of bytes queued for a stream that is not read. */
export const MAX_QUEUED_BYTES = 1024 * 1024
/** Error for an agent that continues without waiting. */
export const READS_SLOWLY = 'The client reads more slowly than the agent responds: await respondText.'
/** Number of unsent bytes above which the sender waits. */
export const HIGH_WATER_BYTES = 64 * 1024
const BLOCKED_LIMIT_MS = 30_000
const TICK_MS = 250

/** Options of a stream over any transport. */
export interface StreamOptions {
  readonly keepAliveMs: number
  /** It has no end of its own: when the server drains it is ended at once. */
  readonly isEndless?: boolean
  /** The client has left, or did not read for too long. Not called after the stream has ended. */
  readonly onLeave?: () => void
  /** The server drains, and no run is left. */
  readonly onDrain?: () => void
}

/** Options of a stream of server-sent events. */
export interface EventStreamOptions extends Omit<StreamOptions, 'onDrain'> {
  /** A whole event or comment that keeps an idle connection open. */
  readonly keepAlive: () => string
}

/** Way of a stream to its client. */
export interface StreamTransport {
  /** Tells when there is room again, and when the client is gone. */
  readonly raw: Writable
  /** @returns false when the client reads more slowly than this */
  readonly write: (events: string) => boolean
  readonly end: (events: string) => void
  /** Keeps an idle connection open. */
  readonly keepAlive: () => void
}

/**
 * The streams of server-sent events that are open on a server. One clock serves them all: a timer for each event of each
 * stream would cost more than the events.
 */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  readonly #waiting = new Set<{ readonly atMs: number; readonly act: () => void }>()
  #clock: NodeJS.Timeout | undefined
  #onEmpty: (() => void) | undefined
  /** One function for all streams: many are open at once. */
  readonly #onClose = (stream: EventStream) => {
    this.#open.delete(stream)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  get size(): number {
    return this.#open.size
  }

  /** Sends the head of the answer, with the headers that the reply has so far, and gives the stream. */
  open(reply: FastifyReply, options: EventStreamOptions): EventStream {
    return this.openOn(new HttpTransport(reply, options), options)
  }

  /** The same over a connection of another kind. */
  openOn(transport: StreamTransport, options: StreamOptions): EventStream {
    const stream = new EventStream(transport, options, this.#onClose)
    this.#open.add(stream)
    this.#startClock()
    return stream
  }

  /**
   * Calls back once this many milliseconds have passed, to the next tick of the clock: for what a stream that is not open yet waits for.
   *
   * @returns a function that ends the wait
   */
  after(delayMs: number, act: () => void): () => void {
    const wait = { atMs: performance.now() + delayMs, act }
    this.#waiting.add(wait)
    this.#startClock()
    return () => this.#waiting.delete(wait)
  }

  /** Waits until every stream has ended; those that have not by then are cut. */
  async drain(timeoutMs: number): Promise<void> {
    for (const stream of this.#open) stream.drain()
    if (this.#open.size === 0) return
    const timer = setTimeout(() => {
      for (const stream of this.#open) stream.cut()
    }, timeoutMs)
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    clearTimeout(timer)
  }

  #startClock(): void {
    this.#clock ??= setInterval(() => this.#tick(), TICK_MS).unref()
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const stream of this.#open) stream.tick(nowMs)
    for (const wait of this.#waiting) {
      if (nowMs < wait.atMs) continue
      this.#waiting.delete(wait)
      wait.act()
    }
    if (this.#open.size + this.#waiting.size > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}

/**
 * One answer as server-sent events (HTML Living Standard, section 9.2). What is sent in one turn of the event loop goes out
 * in one write, each event whole in its write unless it is large. The queue is bounded.
 */
export class EventStream {
  readonly #transport: StreamTransport
  readonly #options: StreamOptions
  readonly #onClose: (stream: EventStream) => void
  #buffer = ''
  #flushing: NodeJS.Immediate | undefined
  #lastWriteMs = performance.now()
  #blockedSinceMs: number | undefined
  #room: Deferred<void> | undefined
  #ended = false
  /** False while a piece of an event was written last: nothing may come before the next one. */
  #isWhole = true

  constructor(transport: StreamTransport, options: StreamOptions, onClose: (stream: EventStream) => void) {
    this.#transport = transport
    this.#options = options
    this.#onClose = onClose
    const { raw } = transport
    const close = () => this.#close()
    // The client may have left before there was anything to send.
    if (raw.destroyed) setImmediate(close)
    else raw.once('close', close)
  }

  /** True while data that is sent may still arrive. */
  get isOpen(): boolean {
    return !this.#ended
  }

  /**
   * Sends one event, whole, or a piece of a large one that ends within a line.
   *
   * @returns a promise when the client reads more slowly than this: it is fulfilled when there is room again
   * @throws Error if more than 1 MiB is already pending, since the sender ignores the promise
   */
  send(event: string): void | Promise<void> {
    if (this.#ended) return
    if (this.#room && this.#queuedBytes() > MAX_QUEUED_BYTES) {
      throw new Error(READS_SLOWLY)
    }
    this.#buffer += event
    if (this.#buffer.length >= HIGH_WATER_BYTES) this.#flush()
    else this.#flushing ??= setImmediate(() => this.#flush())
    return this.#room?.promise
  }

  /** Sends the last events and ends the stream. */
  end(events: string): void {
    if (this.#ended) return
    this.#ended = true
    clearImmediate(this.#flushing)
    this.#transport.end(this.#buffer + events)
    this.#buffer = ''
  }

  drain(): void {
    if (this.#options.isEndless) this.end('')
    else this.#options.onDrain?.()
  }

  /** Closes the connection, dropping unsent data. */
  cut(): void {
    this.#transport.raw.destroy()
  }

  tick(nowMs: number): void {
    if (this.#blockedSinceMs !== undefined) {
      if (nowMs - this.#blockedSinceMs >= BLOCKED_LIMIT_MS) this.cut()
    } else if (!this.#ended && this.#isWhole && nowMs - this.#lastWriteMs >= this.#options.keepAliveMs) {
      this.#lastWriteMs = nowMs
      this.#transport.keepAlive()
    }
  }

  #close(): void {
    const left = !this.#ended
    this.#ended = true
    clearImmediate(this.#flushing)
    this.#unblock()
    this.#onClose(this)
    if (left) this.#options.onLeave?.()
  }

  #flush(): void {
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    // A piece may say nothing: its event has no form in the protocol.
    if (this.#buffer === '') return
    this.#lastWriteMs = performance.now()
    this.#isWhole = this.#buffer.endsWith('\n')
    const hasRoom = this.#transport.write(this.#buffer)
    this.#buffer = ''
    if (!hasRoom) this.#block()
  }

  #block(): void {
    this.#blockedSinceMs ??= performance.now()
    if (this.#room) return
    this.#room = deferred()
    this.#transport.raw.once('drain', () => this.#unblock())
  }

  #unblock(): void {
    this.#blockedSinceMs = undefined
    this.#room?.resolve()
    this.#room = undefined
  }

  #queuedBytes(): number {
    return this.#transport.raw.writableLength + this.#buffer.length
  }
}

const STREAM_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

/** An answer of server-sent events: its head is sent at once. */
class HttpTransport implements StreamTransport {
  readonly raw: FastifyReply['raw']
  readonly #options: EventStreamOptions

  constructor(reply: FastifyReply, options: EventStreamOptions) {
    const { raw } = reply
    this.raw = raw
    this.#options = options
    reply.hijack()
    // The reply's own headers (CORS, request id) would be lost with it.
    raw.writeHead(200, reply.headers(STREAM_HEADERS).getHeaders() as Record<string, string>)
  }

  write(events: string): boolean {
    return this.raw.write(events)
  }

  end(events: string): void {
    this.raw.end(events)
  }

  keepAlive(): void {
    this.raw.write(this.#options.keepAlive())
  }
}
