import { finished, type Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { type Deferred, deferred, Lanes } from '../../async.ts'
import { HostError } from '../../errors.ts'

/** Part of the heap that bodies may come to: text, values and the stored response need up to 14 times the size of a body. */
const HEAP_SHARE = 1 / 32
/** Bytes for young objects in the limit that V8 reports, which hold none of these: three semi-spaces, of 64 MiB from Node 24 on. */
const YOUNG_BYTES = 3 * (Number.parseInt(process.versions.node, 10) < 24 ? 16 : 64) * 1024 * 1024
/** Smallest length that counts. */
export const MIN_BYTES = 256 * 1024
/** Time that a request waits until others have their answer. */
const WAIT_MS = 10_000

export interface ByteLimits {
  readonly maxBytes?: number
  readonly waitMs?: number
}

/** Bytes that something holds, or waits for. */
export interface HeldBytes {
  /** Undefined when they are free, otherwise rejected with a HostError `OVERLOADED` when they do not become free in time. */
  readonly free: Promise<void> | undefined
  /** To be called once. */
  readonly release: () => void
}

interface Claim extends Deferred<void> {
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  answers: number
  isAdmitted: boolean
}

/** Returns a part of the heap of old objects in bytes. */
export function heapShare(share: number): number {
  const { heap_size_limit: limit } = getHeapStatistics()
  // Flags may leave less for young ones.
  return Math.max(limit - YOUNG_BYTES, limit / 4) * share
}

/** Bytes that requests share, first come, first served. */
export class ByteBudget {
  readonly #maxBytes: number
  readonly #waitMs: number
  readonly #claims = new Map<unknown, Claim>()
  readonly #waiting = new Set<Claim>()
  /** To write a large answer as JSON holds the event loop: those who share a read do so one after another, and others come between. */
  readonly #turns = new Lanes(1)
  #used = 0

  constructor({ maxBytes = heapShare(HEAP_SHARE), waitMs = WAIT_MS }: ByteLimits = {}) {
    this.#maxBytes = maxBytes
    this.#waitMs = waitMs
  }

  /**
   * Takes bytes until the answer is sent, or its client has left.
   *
   * @param of what the bytes are of: answers that share it take them once
   * @returns see {@link HeldBytes.free}
   */
  take(bytes: number, answer: Writable, of: unknown = answer): Promise<void> | undefined {
    const { free, release } = this.hold(bytes, of)
    finished(answer, release)
    return free
  }

  /** Takes bytes until they are released. */
  hold(bytes: number, of: unknown): HeldBytes {
    const claim = this.#claims.get(of) ?? this.#add(bytes, of)
    claim.answers++
    const release = () => {
      if (--claim.answers === 0) this.#remove(claim, of)
    }
    this.#admit()
    return { free: claim.isAdmitted ? undefined : claim.promise, release }
  }

  /** Reads something for an answer. What is large and has to wait is forgotten meanwhile, and read again: many may wait. */
  async read<T>(
    read: () => Promise<T>,
    lengthOf: (value: T) => number,
    ...[answer, of]: [answer: Writable, of?: unknown]
  ): Promise<T> {
    const known: T[] = [await read()]
    const bytes = lengthOf(known[0] as T)
    if (bytes < MIN_BYTES) return known[0] as T
    const waiting = this.take(bytes, answer, of)
    if (waiting) {
      known.pop()
      await waiting
      known.push(await read())
    }
    await this.#turns.run(() => nextTurn())
    return known[0] as T
  }

  #add(bytes: number, of: unknown): Claim {
    const timer = setTimeout(() => {
      claim.reject(new HostError('OVERLOADED', 'Too many large requests are under way.'))
      this.#remove(claim, of)
    }, this.#waitMs).unref()
    const claim: Claim = { ...deferred<void>(), bytes, timer, answers: 0, isAdmitted: false }
    this.#claims.set(of, claim)
    this.#waiting.add(claim)
    return claim
  }

  #remove(claim: Claim, of: unknown): void {
    if (this.#claims.get(of) !== claim) return
    clearTimeout(claim.timer)
    this.#claims.delete(of)
    this.#waiting.delete(claim)
    if (claim.isAdmitted) this.#used -= claim.bytes
    this.#admit()
  }

  #admit(): void {
    for (const claim of this.#waiting) {
      if (this.#used > 0 && this.#used + claim.bytes > this.#maxBytes) return
      this.#waiting.delete(claim)
      clearTimeout(claim.timer)
      claim.isAdmitted = true
      this.#used += claim.bytes
      claim.resolve()
    }
  }
}
