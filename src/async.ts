import { FUNCTION, MILLISECONDS, requireGiven, SIGNAL } from './given.ts'

/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | PromiseLike<T>) => void
  readonly reject: (error: unknown) => void
}

/** Holds the place of a function until the promise is made. */
const unset = () => {}

/** Creates a promise together with the functions that settle it (`Promise.withResolvers` of Node 22). */
export function deferred<T = void>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = unset
  let reject: Deferred<T>['reject'] = unset
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/** Rejects a promise that need not be awaited: it must not end the process as an unhandled rejection. */
export function rejectQuietly<T>({ promise, reject }: Deferred<T>, error: unknown): void {
  promise.catch(() => {})
  reject(error)
}

/** Something that is opened once, and there from then on; tried again when that has failed. */
export class Opening<T> {
  /** Undefined before it is open. */
  opened: T | undefined
  readonly #open: () => Promise<T>
  #opening: Promise<T> | undefined

  constructor(open: () => Promise<T>) {
    this.#open = open
  }

  /** Opens it; a further call waits for the first. */
  open(): Promise<T> {
    this.#opening ??= this.#open().then(
      (value) => {
        this.opened = value
        return value
      },
      (error) => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  /** True while it is opened, and from then on. */
  get isBegun(): boolean {
    return this.#opening !== undefined
  }

  /** Waits until it is open; undefined where nobody has opened it, or that fails. */
  async whenOpen(): Promise<T | undefined> {
    return this.#opening?.catch(() => undefined)
  }

  /** @throws Error before it is open */
  get value(): T {
    if (!this.opened) throw new Error('It is not open yet.')
    return this.opened
  }
}

/**
 * Settles as the promise does, or rejects with `createError()` when that takes longer than `timeoutMs`.
 *
 * @example
 * ```ts
 * export function findWithin(client: { find(id: string): Promise<string> }, id: string): Promise<string> {
 *   return withDeadline(client.find(id), 5000, () => new Error(`Order '${id}' was not found within 5 s.`))
 * }
 * ```
 */
export async function withDeadline<T>(
  promise: PromiseLike<T>,
  timeoutMs: number,
  createError: () => Error,
): Promise<T> {
  requireGiven(MILLISECONDS, timeoutMs, 'timeoutMs')
  requireGiven(FUNCTION, createError, 'createError')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(createError()), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Settles as the promise does, or rejects with the signal's reason as soon as it aborts: not every call looks at a signal.
 *
 * @example
 * ```ts
 * export function lookUp(client: { find(id: string): Promise<string> }, id: string, run: Run): Promise<string> {
 *   // The client knows no signal.
 *   return raceAbort(client.find(id), run.signal)
 * }
 * ```
 */
export async function raceAbort<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  requireGiven(SIGNAL, signal, 'signal')
  const aborted = deferred<never>()
  const abort = () => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  try {
    // Both are awaited, also when the signal has aborted before: a promise that fails then must not end the process.
    return await Promise.race([aborted.promise, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Calls the listener when the signal aborts; at once when it has aborted already.
 *
 * @returns a function that ends it
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted) listener()
  else signal?.addEventListener('abort', listener, { once: true })
  return () => signal?.removeEventListener('abort', listener)
}

/** Tells in time whether the promise has settled: true when it was fulfilled, false when it is still pending at the deadline. */
export async function settlesWithin(promise: PromiseLike<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Items that {@link forEachConcurrent} works on at once. */
const LANES = 20

/** Works on all items, several at once. The first error ends it. */
export async function forEachConcurrent<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const lane = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** Does a limited number of things at once, first come, first served. */
export class Lanes {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

/** Cleanup steps, latest first; each runs once. */
export class CleanupStack {
  readonly #steps: (() => unknown)[] = []

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  /**
   * Runs every step, even if others fail.
   *
   * @throws the first error
   */
  async run(): Promise<void> {
    const errors: unknown[] = []
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  const isObject = typeof value === 'object' || typeof value === 'function'
  return isObject && value !== null && 'then' in value && typeof value.then === 'function'
}
