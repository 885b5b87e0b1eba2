import type { Message } from 'agent-host'
import { mendChatEvents } from './chat-events.ts'
import { ChatFields, fieldsFor, type GivenFields, putBack } from './chat-fields.ts'
import { makeFetch } from './vendor-fetch.ts'

/** Endpoint in the style of chat completions, and its calls under way, by their signals: the SDK tells its fetch nothing else. */
export class ChatEndpoint {
  /** Name in the metadata of messages and calls: what one endpoint said goes to no other. */
  readonly name: string
  readonly fetch: typeof fetch
  readonly #given = new WeakMap<AbortSignal, readonly GivenFields[]>()
  readonly #answers = new WeakMap<AbortSignal, ChatFields>()

  /** @param readsThoughts true if the SDK passes thoughts on */
  constructor(address: string, readsThoughts = true) {
    this.name = nameOf(address)
    const send = makeFetch((signal) => {
      const fields = new ChatFields(this.name, readsThoughts)
      this.#answers.set(signal, fields)
      return mendChatEvents(fields)
    })
    this.fetch = (input, init) => {
      const given = init?.signal ? this.#given.get(init.signal) : undefined
      const isFilled = given && typeof init?.body === 'string'
      return send(input, isFilled ? { ...init, body: putBack(String(init.body), given) } : init)
    }
  }

  /** Has the requests of a call bring back what the endpoint sent with these messages. */
  prepare(signal: AbortSignal, messages: readonly Message[]): void {
    const given = fieldsFor(this.name, messages)
    if (given) this.#given.set(signal, given)
  }

  /** Other fields of the answer to a call. */
  fieldsOf(signal: AbortSignal): ChatFields | undefined {
    return this.#answers.get(signal)
  }
}

/** Host and path: an address may hold a password. */
function nameOf(address: string): string {
  if (!URL.canParse(address)) return address
  const { host, pathname } = new URL(address)
  return `${host}${pathname.replace(/\/+$/, '')}`
}
