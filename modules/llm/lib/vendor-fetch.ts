import { fetchWithinOrigin } from 'agent-host'
import { UnusableAnswer } from './ai-sdk-retry.ts'
import { BYTES } from './idle-timeout.ts'
import { describeBody } from './vendor-words.ts'

/** Rewrites the data of one event of an answer. */
export type MendEvent = (data: string) => string

/** The fetch of a vendor's SDK: each byte of an answer is a sign of life to the call that waits for it. */
export const vendorFetch: typeof fetch = makeFetch()

/** @param makeMend called for each answer, with the signal of its call. Default: events stay as they are. */
export function makeFetch(makeMend?: (signal: AbortSignal) => MendEvent): typeof fetch {
  return async (input, init) => {
    const response = await fetchWithinOrigin(String(input), init)
    const { body, ok, headers } = response
    const { signal } = init ?? {}
    if (!ok || !body || !signal) return response
    const type = headers.get('content-type') ?? ''
    const events = type.includes('amazon.eventstream')
      ? undefined
      : new Events(response.status, type, makeMend?.(signal))
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        signal.dispatchEvent(new Event(BYTES))
        controller.enqueue(events ? events.take(bytes) : bytes)
      },
      flush: (controller) => events && controller.enqueue(events.rest()),
    })
    return new Response(body.pipeThrough(heard), response)
  }
}

const MAX_FOREIGN_LENGTH = 20_000

/** Server-sent events, without the empty ones: the SDK would parse them as JSON. */
class Events {
  readonly #status: number
  readonly #saysEvents: boolean
  readonly #mend: MendEvent | undefined
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  #begun = ''
  /** True for a body that is something else, whatever its type says; undefined until it has begun. */
  #isForeign: boolean | undefined

  constructor(status: number, type: string, mend: MendEvent | undefined) {
    this.#status = status
    this.#saysEvents = type.includes('event-stream')
    this.#mend = mend
  }

  take(bytes: Uint8Array): Uint8Array {
    const text = this.#begun + this.#decoder.decode(bytes, { stream: true })
    this.#isForeign ??= beginsForeign(text, this.#saysEvents)
    if (this.#isForeign !== false) {
      this.#begun = text.slice(0, MAX_FOREIGN_LENGTH)
      return NOTHING
    }
    const lines = text.split('\n')
    this.#begun = lines.pop() ?? ''
    return this.#encoder.encode(lines.map((line) => `${this.#read(line)}\n`).join(''))
  }

  /** @throws UnusableAnswer for a body that was no stream of events */
  rest(): Uint8Array {
    if (this.#isForeign ?? this.#begun.trim() !== '')
      throw new UnusableAnswer(describeBody(this.#begun.trim(), this.#status))
    return this.#encoder.encode(this.#begun + this.#decoder.decode())
  }

  #read(line: string): string {
    if (!line.startsWith('data:')) return line
    const data = line.slice(5).trim()
    if (data === '') return ''
    return this.#mend ? `data: ${this.#mend(data)}` : line
  }
}

const NOTHING = new Uint8Array()

/** JSON and pages begin with a bracket, which events never do. Other text may be of a field that is not known, if its type says so. */
function beginsForeign(text: string, saysEvents: boolean): boolean | undefined {
  const begun = text.trimStart()
  if (/^[{[<]/.test(begun)) return true
  if (saysEvents || /^(:|data:|event:|id:|retry:)/.test(begun)) return begun === '' ? undefined : false
  return begun.length < 'event:'.length ? undefined : true
}
