import { invalidField } from '../../../bodies/invalid-field.ts'

/** Pairs the calls of an input with their outputs, by id. An id may be used again once its call has an output. */
export class CallPairs {
  readonly #known = new Set<string>()
  readonly #open = new Set<string>()

  /** @throws HostError `REQUEST_INVALID` when a call of this id is open */
  open(callId: string, at: string): void {
    if (this.#open.has(callId)) {
      throw invalidField(`${at}.call_id`, `is that of another call without an output: '${callId}'`)
    }
    this.#known.add(callId)
    this.#open.add(callId)
  }

  /**
   * @returns false for an output whose call is not part of the input
   * @throws HostError `REQUEST_INVALID` for a second output
   */
  close(callId: string, at: string): boolean {
    if (this.#open.delete(callId)) return true
    if (this.#known.has(callId)) {
      throw invalidField(`${at}.call_id`, `is that of a call that has an output already: '${callId}'`)
    }
    this.#known.add(callId)
    return false
  }
}
