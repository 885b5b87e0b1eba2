import { messageOf } from '../errors.ts'
import { FUNCTION, requireGiven } from '../given.ts'
import type { Log } from '../protocols/log.ts'

/** Listeners of one kind of event. One that throws is reported, and does not affect the others. */
export class Listeners<T = void> {
  readonly #subject: string
  readonly #log: Log
  readonly #all = new Set<(news: T) => void>()

  /** @param subject of the news, for the log: `changes of the agents` */
  constructor(subject: string, log: Log) {
    this.#subject = subject
    this.#log = log
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /**
   * @returns a function that takes the listener away again
   * @throws HostError `REQUEST_INVALID`
   */
  add(listener: (news: T) => void): () => void {
    requireGiven(FUNCTION, listener, 'listener')
    this.#all.add(listener)
    return () => this.#all.delete(listener)
  }

  tell(news: T): void {
    for (const listener of this.#all) {
      try {
        listener(news)
      } catch (error) {
        this.#log.error(`A listener for ${this.#subject} failed: ${messageOf(error)}`)
      }
    }
  }
}
