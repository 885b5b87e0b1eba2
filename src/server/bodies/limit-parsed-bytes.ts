import { finished, Transform, type Writable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import { deferred } from '../../async.ts'
import { HostError } from '../../errors.ts'

/** Bodies shorter than this are not counted. */
const MIN_BYTES = 256 * 1024
/**
 * Part of the heap that bodies may come to: text, values and the stored response need up to 14 times the size of a body. The limit that V8
 * reports has up to 192 MiB for young objects (Node 24), which hold none of these.
 */
const HEAP_SHARE = 1 / 32
/** Time that a body waits until others have their answer. */
const WAIT_MS = 10_000

export interface BodyLimits {
  readonly maxBytes?: number
  readonly waitMs?: number
}

/**
 * Bounds the bytes of the large bodies whose requests are under way at the same time. A body above that is not read before others
 * have their answer; a single one always is.
 */
export function limitParsedBytes(
  app: FastifyInstance,
  { maxBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE, waitMs = WAIT_MS }: BodyLimits = {},
): void {
  const budget = new ByteBudget(maxBytes, waitMs)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': header, 'transfer-encoding': encoding } = request.headers
    const isLarge = header === undefined ? encoding !== undefined : Number(header) >= MIN_BYTES
    if (!isLarge) return done(null, payload)
    const { bodyLimit } = request.routeOptions
    const take = (bytes: number) => budget.take(bytes, reply.raw)
    if (header === undefined) return done(null, payload.pipe(new LateTake(() => take(bodyLimit))))
    // The parser refuses what is too long before it reads anything.
    if (Number(header) > bodyLimit) return done(null, payload)
    take(Number(header)).then(() => done(null, payload), done)
  })
}

interface Claim {
  readonly bytes: number
  readonly admit: () => void
  isAdmitted: boolean
}

/** Bytes that requests share, first come, first served. */
class ByteBudget {
  readonly #maxBytes: number
  readonly #waitMs: number
  readonly #waiting = new Set<Claim>()
  #used = 0

  constructor(maxBytes: number, waitMs: number) {
    this.#maxBytes = maxBytes
    this.#waitMs = waitMs
  }

  /**
   * Takes bytes until the answer is sent, or its client has left.
   *
   * @throws HostError `OVERLOADED` when they do not become free in time
   */
  take(bytes: number, answer: Writable): Promise<void> {
    const { promise, resolve: admit, reject } = deferred()
    const claim: Claim = { bytes, admit, isAdmitted: false }
    this.#waiting.add(claim)
    const timer = setTimeout(() => {
      if (this.#waiting.delete(claim)) reject(new HostError('OVERLOADED', 'Too many large requests are under way.'))
    }, this.#waitMs).unref()
    finished(answer, () => {
      clearTimeout(timer)
      this.#waiting.delete(claim)
      if (claim.isAdmitted) this.#used -= bytes
      this.#admit()
    })
    this.#admit()
    return promise
  }

  #admit(): void {
    for (const claim of this.#waiting) {
      if (this.#used > 0 && this.#used + claim.bytes > this.#maxBytes) return
      this.#waiting.delete(claim)
      claim.isAdmitted = true
      this.#used += claim.bytes
      claim.admit()
    }
  }
}

/** Passes a body of unknown length on, and takes its bytes once it is known to be a large one. */
class LateTake extends Transform {
  readonly #take: () => Promise<void>
  #received = 0
  #hasTaken = false

  constructor(take: () => Promise<void>) {
    super()
    this.#take = take
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null, chunk?: Buffer) => void) {
    this.#received += chunk.length
    if (this.#hasTaken || this.#received < MIN_BYTES) return done(null, chunk)
    this.#hasTaken = true
    this.#take().then(() => done(null, chunk), done)
  }
}
