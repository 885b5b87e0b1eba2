import { type Deferred, deferred } from '../../async.ts'

/** Maximum length of answer text by which an agent may be ahead of the store, and of the client that it answers. */
const MAX_LENGTH = 256 * 1024

/** Has an agent wait whose text is too far ahead of the store, or of the client that it answers. */
export class BackPressure {
  #produced = 0
  #saved = 0
  /** Length of the text that the client has taken; undefined when none has to. */
  #taken: number | undefined
  #room: Deferred<void> | undefined

  /** Length of the text that is stored. */
  get saved(): number {
    return this.#saved
  }

  produce(length: number): void {
    this.#produced += length
  }

  /** Everything so far is stored. */
  save(): void {
    this.#saved = this.#produced
    this.#makeRoom()
  }

  /** From now on the agent waits for a client, too. */
  beginTaking(): void {
    this.#taken = 0
  }

  /** The client has taken the text up to this length. */
  take(length: number): void {
    if (this.#taken !== undefined) this.#taken = length
    this.#makeRoom()
  }

  /** The agent waits for no client any more. */
  endTaking(): void {
    this.#taken = undefined
    this.#makeRoom()
  }

  /** Returns a promise that the agent has to wait for; undefined when there is room. */
  waitForRoom(): Promise<void> | undefined {
    if (this.#length <= MAX_LENGTH) return undefined
    this.#room ??= deferred()
    return this.#room.promise
  }

  #makeRoom(): void {
    if (!this.#room || this.#length > MAX_LENGTH) return
    this.#room.resolve()
    this.#room = undefined
  }

  get #length(): number {
    return this.#produced - Math.min(this.#saved, this.#taken ?? this.#saved)
  }
}
