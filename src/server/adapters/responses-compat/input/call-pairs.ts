import type { HostError } from '../../../../errors.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'

/** Calls of functions, and of tools that take free text. */
export type CallKind = 'function' | 'custom'

/** Problem of an output for a call of the other kind. */
export function otherKind(callId: string, kind: CallKind, at: string): HostError {
  const type = kind === 'custom' ? 'function_call' : 'custom_tool_call'
  return invalidField(`${at}.type`, `must be ${type}_output: '${callId}' is the id of a ${type}`)
}

/** Pairs the calls of an input with their outputs, by id. An id may be used again once its call has an output. */
export class CallPairs {
  /** Kinds of the calls, by id; an output without its call has one too. */
  readonly #known = new Map<string, CallKind>()
  readonly #open = new Set<string>()

  /** @throws HostError `REQUEST_INVALID` when a call of this id is open */
  open(callId: string, kind: CallKind, at: string): void {
    if (this.#open.has(callId)) {
      throw invalidField(`${at}.call_id`, `is that of another call without an output: '${callId}'`)
    }
    this.#known.set(callId, kind)
    this.#open.add(callId)
  }

  /** Tells whether a call is one of a tool that takes free text. */
  isCustom(callId: string): boolean {
    return this.#known.get(callId) === 'custom'
  }

  /**
   * @returns false for an output whose call is not part of the input
   * @throws HostError `REQUEST_INVALID` for a second output, and for one of the other kind
   */
  close(callId: string, kind: CallKind, at: string): boolean {
    if (this.#open.has(callId) && this.#known.get(callId) !== kind) throw otherKind(callId, kind, at)
    if (this.#open.delete(callId)) return true
    if (this.#known.has(callId)) {
      throw invalidField(`${at}.call_id`, `is that of a call that has an output already: '${callId}'`)
    }
    this.#known.set(callId, kind)
    return false
  }
}
