import { randomUUID } from 'node:crypto'
import { deferred, raceAbort } from '../../../async.ts'
import type { CallMemory } from './call-memory.ts'
import type { ElicitationResponse } from './elicitation.ts'
import { isObject } from './json-rpc.ts'

/** Question to a client that has not answered yet. */
interface Open {
  /** Session of the client. */
  readonly key: string | undefined
  readonly resolve: (response: ElicitationResponse) => void
}

/** Question to a client. */
export interface Elicitation {
  /** Request to send, as JSON text. */
  readonly message: string
  /** Fails when the client has left. */
  readonly response: Promise<ElicitationResponse>
}

/** Requests of `elicitation/create` that clients of the versions with a handshake have not answered yet. */
export class Elicitations {
  readonly #open = new Map<string, Open>()
  readonly #memory: CallMemory

  /** @param memory passes on answers that reach another server than the one that asks */
  constructor(memory: CallMemory) {
    this.#memory = memory
  }

  /** @param key session of the client: nobody else answers */
  async open(params: object, key: string | undefined, leaving: AbortSignal | undefined): Promise<Elicitation> {
    const id = randomUUID()
    const { promise, resolve } = deferred<ElicitationResponse>()
    this.#open.set(id, { key, resolve })
    const onAnswer = (result: unknown) => resolve(readResponse(result))
    // While the store is down only an answer that reaches this server counts.
    const end = await this.#memory.awaitAnswer({ id, session: key ?? '' }, onAnswer).catch(() => () => {})
    const response = raceAbort(promise, leaving).finally(() => {
      this.#open.delete(id)
      end()
    })
    return { message: JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }), response }
  }

  /** Handles the response of a client. Errors and invalid responses count as cancelled; unrelated ones are ignored. */
  take(message: unknown, key: string | undefined): void {
    const { id, result } = message as { id?: unknown; result?: unknown }
    if (typeof id !== 'string') return
    const asked = this.#open.get(id)
    if (asked?.key === key) asked?.resolve(readResponse(result))
    // A failure leaves the question open: its client may leave, or answer again.
    if (!asked) this.#memory.passAnswer({ id, session: key ?? '' }, result).catch(() => {})
  }
}

function readResponse(result: unknown): ElicitationResponse {
  if (!isObject(result)) return { action: 'cancel' }
  const { action, content } = result
  if (action === 'decline') return { action }
  return action === 'accept' ? { action, content: isObject(content) ? content : undefined } : { action: 'cancel' }
}
