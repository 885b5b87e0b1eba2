import { fieldsOf, type Message } from 'agent-host'
import { UnusableAnswer } from './ai-sdk-retry.ts'
import { ChatFields, fieldsFor, type GivenFields, putBack } from './chat-fields.ts'
import { type MendEvent, makeFetch } from './vendor-fetch.ts'
import { vendorWords } from './vendor-words.ts'

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

/** Chunks that the SDK would misread: few, so that the others are not parsed twice. */
const ODD = /"tool_calls"\s*:\s*[[{]|"error"|"choices"\s*:\s*null|"role"\s*:\s*"(?!assistant"|")/

/**
 * Mends chunks of chat completions that servers send and the SDK refuses, or reads as something else.
 *
 * @param fields gets what the endpoint wants back
 */
function mendChatEvents(fields: ChatFields): MendEvent {
  return (data) => {
    if (!data.startsWith('{') || (data.includes('"choices"') && !ODD.test(data) && !fields.isIn(data))) return data
    try {
      return JSON.stringify(mendChunk(JSON.parse(data), fields))
    } catch (error) {
      if (error instanceof UnusableAnswer) throw error
      // The SDK says what is wrong with it.
      return data
    }
  }
}

function mendChunk({ error: failure, ...chunk }: Record<string, unknown>, fields: ChatFields): object {
  const [choice, ...others] = Array.isArray(chunk.choices) ? chunk.choices : []
  const { error = failure ?? (chunk.choices === undefined ? vendorWords(chunk) : undefined), ...rest } =
    fieldsOf(choice)
  if (error) return { error: toError(error) }
  if (!choice) return { ...chunk, choices: [] }
  const { role: _, tool_calls, ...said } = fieldsOf(rest.delta)
  fields.hear(said)
  const delta = { ...said, ...(tool_calls ? { tool_calls: fields.calls.read(tool_calls) } : {}) }
  return { ...chunk, choices: [{ ...rest, delta }, ...others] }
}

/** The shape that the SDK knows. */
function toError(error: unknown): object {
  const { code } = fieldsOf(error)
  const message = vendorWords({ error }) ?? 'no reason given'
  return { message, ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}) }
}
