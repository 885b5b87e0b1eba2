import { setMaxListeners } from 'node:events'

/** Early end of a run, and what is closed with it. The parts that most runs never need are created on demand. */
export class RunAbort {
  #isRequested = false
  #reason: unknown
  #controller: AbortController | undefined
  #openStreams: Set<() => void> | undefined
  #listeners: Set<(reason: unknown) => void> | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      // Parallel tool calls listen to one signal, each of them.
      setMaxListeners(0, this.#controller.signal)
      if (this.#isRequested) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Ends the run early. Only the first reason counts. */
  request(reason: unknown): void {
    if (this.#isRequested) return
    this.#isRequested = true
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  /** Calls the listener when the run ends early: a signal costs more. Returns a function that ends it. */
  onRequest(listener: (reason: unknown) => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }

  get isRequested(): boolean {
    return this.#isRequested
  }

  /** Throws the reason once the run was aborted. */
  throwIfRequested(): void {
    if (this.#isRequested) throw this.#reason
  }

  /** Remembers a stream until it has ended, so that one without a reader is closed with the run. Returns a function that forgets it. */
  trackStream(close: () => void): () => void {
    this.#openStreams ??= new Set()
    this.#openStreams.add(close)
    return () => this.#openStreams?.delete(close)
  }

  closeStreams(): void {
    for (const close of this.#openStreams ?? []) close()
  }
}
