import type { Worker } from 'node:worker_threads'

/** A thread that ends sooner is not started again at once. */
const STEADY_AFTER_MS = 10_000
/** It doubles with each thread that ends too soon. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000

export interface LastingThreadOptions<Message> {
  /** Of what it holds, in its errors: `database`. */
  readonly name: string
  readonly start: () => Worker
  readonly onMessage: (message: Message) => void
  /** Called when a thread has ended. The next one has started, unless there is a `failure`. */
  readonly onEnd: (reason: Error) => void
  /** Called when the next one has started, before anything is sent to it. */
  readonly onStartedAgain?: () => void
}

/** A thread in whose place another one is started when it ends, such as for lack of memory. If the first is never ready, none follows. */
export class LastingThread<Message> {
  readonly #options: LastingThreadOptions<Message>
  // Fields, not accessors: each request of a store reads them.
  /** The latest one. */
  worker: Worker
  /** Set while there is no thread: why there is none. */
  failure: Error | undefined
  #readyMs: number | undefined
  #pauseMs = 0
  #restarting: NodeJS.Timeout | undefined
  #isClosing = false
  #onReady: { resolve: () => void; reject: (error: Error) => void } | undefined
  /** Settles when the first thread is ready, or has ended. */
  readonly started: Promise<void>

  constructor(options: LastingThreadOptions<Message>) {
    this.#options = options
    this.worker = this.#start()
    this.started = new Promise((resolve, reject) => {
      this.#onReady = { resolve, reject }
    })
  }

  noteReady(): void {
    this.#readyMs = performance.now()
    this.#onReady?.resolve()
    this.#onReady = undefined
  }

  /** True when no other thread starts if this one ends. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  beginClosing(): void {
    this.#isClosing = true
    clearTimeout(this.#restarting)
  }

  #start(): Worker {
    this.failure = undefined
    this.#readyMs = undefined
    let reason: Error | undefined
    this.worker = this.#options
      .start()
      .on('message', this.#options.onMessage)
      .on('error', (error) => {
        reason = error
      })
      .on('exit', (code) => this.#onExit(reason ?? new Error(`it exited with ${code}`)))
    return this.worker
  }

  #onExit(reason: Error): void {
    if (this.#isClosing) this.failure = new Error('it was closed')
    else if (this.#onReady) this.failure = reason
    else this.#restart(this.#readyMs === undefined ? reason : this.#ended(reason))
    this.#onReady?.reject(reason)
    this.#options.onEnd(reason)
  }

  #ended(reason: Error): Error {
    return new Error(`the thread of the ${this.#options.name} ended: ${reason.message}`)
  }

  /** At once; after threads that ended too soon with a pause. */
  #restart(failure: Error): void {
    const isSteady = this.#readyMs !== undefined && performance.now() - this.#readyMs > STEADY_AFTER_MS
    const pauseMs = isSteady ? 0 : this.#pauseMs
    this.#pauseMs = Math.min(Math.max(2 * pauseMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    if (pauseMs === 0) this.#startAgain()
    else {
      this.failure = failure
      this.#restarting = setTimeout(() => this.#startAgain(), pauseMs).unref()
    }
  }

  #startAgain(): void {
    try {
      this.#start()
    } catch (error) {
      // The system gives no more threads.
      this.#restart(error as Error)
      return
    }
    this.#options.onStartedAgain?.()
  }
}
