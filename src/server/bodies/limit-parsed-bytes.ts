import { Transform } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ByteBudget, type ByteLimits, type HeldBytes, MIN_BYTES } from './byte-budget.ts'

const BUDGET = Symbol('byte budget')

/** An app with the budget of its bodies. */
interface Limited {
  [BUDGET]?: ByteBudget
}

/**
 * Bounds the bytes of the large bodies whose requests are under way at the same time. A body above that is not read before others
 * have their answer; a single one always is.
 */
export function limitParsedBytes(app: FastifyInstance, limits?: ByteLimits): void {
  const budget = new ByteBudget(limits)
  ;(app as Limited)[BUDGET] = budget
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': header, 'transfer-encoding': encoding } = request.headers
    const isLarge = header === undefined ? encoding !== undefined : Number(header) >= MIN_BYTES
    if (!isLarge) return done(null, payload)
    const { bodyLimit } = request.routeOptions
    const take = async (bytes: number) => budget.take(bytes, reply.raw)
    if (header === undefined) {
      const late = new LateTake(() => take(bodyLimit))
      payload.on('error', (error) => late.destroy(error))
      return done(null, payload.pipe(late))
    }
    // The parser refuses what is too long before it reads anything.
    if (Number(header) > bodyLimit) return done(null, payload)
    take(Number(header)).then(() => done(null, payload), done)
  })
}

/**
 * Takes the bytes of a message of a WebSocket, beside those of bodies.
 *
 * @param request that the WebSocket was opened with
 * @returns undefined for a small message
 */
export function holdMessage({ server }: FastifyRequest, message: Buffer): HeldBytes | undefined {
  return message.length < MIN_BYTES ? undefined : (server as Limited)[BUDGET]?.hold(message.length, message)
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
