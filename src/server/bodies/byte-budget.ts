import { finished, type Writable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import { deferred } from '../../async.ts'
import { HostError } from '../../errors.ts'

/**
 * Part of the heap that bodies may come to: text, values and the stored response need up to 14 times the size of a body. The limit that V8
 * reports has up to 192 MiB for young objects (Node 24), which hold none of these.
 */
const HEAP_SHARE = 1 / 32
/** Time that a request waits until others have their answer. */
const WAIT_MS = 10_000

export interface ByteLimits {
  readonly maxBytes?: number
  readonly waitMs?: number
}

interface Claim {
  readonly bytes: number
  readonly admit: () => void
  isAdmitted: boolean
}

/** Bytes that requests share, first come, first served. */
export class ByteBudget {
  readonly #maxBytes: number
  readonly #waitMs: number
  readonly #waiting = new Set<Claim>()
  #used = 0

  constructor({ maxBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE, waitMs = WAIT_MS }: ByteLimits = {}) {
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
