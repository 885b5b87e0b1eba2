import { randomUUID } from 'node:crypto'
import { deferred, raceAbort } from '../../../../async.ts'
import { fieldsOf } from '../../../../json.ts'
import type { CallMemory } from '../call-memory/call-memory.ts'
import { type ElicitationResponse, readResponse } from './elicitation.ts'

/** Client that is asked. */
interface Client {
  /** Its session, a secret between both sides. */
  readonly key: string | undefined
  readonly tenant: string
}

/** Question to a client that has not answered yet. */
interface Open {
  readonly client: Client
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

  /** @param client the only one that may answer */
  async open(params: object, client: Client, leaving: AbortSignal | undefined): Promise<Elicitation> {
    const id = randomUUID()
    const { promise, resolve } = deferred<ElicitationResponse>()
    this.#open.set(id, { client, resolve })
    const onAnswer = (result: unknown) => resolve(readResponse(result))
    // While the store is down only an answer that reaches this server counts.
    const question = { id, session: client.key ?? '' }
    const end = await this.#memory
      .of(client.tenant)
      .awaitAnswer(question, onAnswer)
      .catch(() => () => {})
    const response = raceAbort(promise, leaving).finally(() => {
      this.#open.delete(id)
      end()
    })
    return { message: JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }), response }
  }

  /** Handles the response of a client. An error counts as cancelled; a response to no open question is ignored. */
  take(message: unknown, { key, tenant }: Client): void {
    const { id, result } = fieldsOf(message)
    if (typeof id !== 'string') return
    const asked = this.#open.get(id)
    if (asked?.client.key === key && asked?.client.tenant === tenant) asked?.resolve(readResponse(result))
    // A failure leaves the question open: its client may leave, or answer again.
    const question = { id, session: key ?? '' }
    if (!asked)
      this.#memory
        .of(tenant)
        .passAnswer(question, result)
        .catch(() => {})
  }
}
