import { fetchWithinOrigin, limitBody } from 'agent-host'
import { UnusableAnswer } from './ai-sdk-retry.ts'
import { BYTES } from './idle-timeout.ts'
import { describeBody } from './vendor-words.ts'

/** Largest answer that is no stream: an error, or a number of tokens. */
export const MAX_WHOLE_BYTES = 1024 * 1024
const MAX_EVENT_LENGTH = 16 * 1024 * 1024
/** Cost of each line of an event to the SDK, beside its characters. */
const LINE_LENGTH = 64

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
    if (!ok) return limitBody(response, MAX_WHOLE_BYTES)
    if (!body || !signal) return response
    const type = headers.get('content-type') ?? ''
    const events = type.includes('amazon.eventstream')
      ? new Messages()
      : new Events(response.status, type, makeMend?.(signal))
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        signal.dispatchEvent(new Event(BYTES))
        controller.enqueue(events.take(bytes))
      },
      flush: (controller) => controller.enqueue(events.rest()),
    })
    // Without the words of its status: those that `Response` refuses are no reason to fail.
    return new Response(body.pipeThrough(heard), { status: response.status, headers })
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
  /** Of the lines since the latest blank one. */
  #length = 0
  /** True for a body that is something else, whatever its type says; undefined until it has begun. */
  #isForeign: boolean | undefined

  constructor(status: number, type: string, mend: MendEvent | undefined) {
    this.#status = status
    this.#saysEvents = type.includes('event-stream')
    this.#mend = mend
  }

  take(bytes: Uint8Array): Uint8Array {
    let text = this.#decoder.decode(bytes, { stream: true })
    if (this.#isForeign !== false) {
      text = this.#begun + text
      this.#isForeign ??= beginsForeign(text, this.#saysEvents)
      if (this.#isForeign !== false) return this.#collect(text)
      this.#begun = ''
    }
    // Only what is new is searched: a line may come in thousands of pieces.
    const [first = '', ...others] = text.split('\n')
    const lines: string[] = []
    this.#begun += first
    for (const begun of others) {
      lines.push(`${this.#read(this.#begun)}\n`)
      this.#begun = begun
    }
    if (this.#length + this.#begun.length > MAX_EVENT_LENGTH) throw tooLong()
    return this.#encoder.encode(lines.join(''))
  }

  #collect(text: string): Uint8Array {
    this.#begun = text.slice(0, MAX_FOREIGN_LENGTH)
    return this.#isForeign && text.length > MAX_FOREIGN_LENGTH ? this.rest() : NOTHING
  }

  /** @throws UnusableAnswer for a body that was no stream of events */
  rest(): Uint8Array {
    if (this.#isForeign ?? this.#begun.trim() !== '')
      throw new UnusableAnswer(describeBody(this.#begun.trim(), this.#status))
    return this.#encoder.encode(this.#begun + this.#decoder.decode())
  }

  #read(line: string): string {
    this.#length = line.length > 1 ? this.#length + line.length + LINE_LENGTH : 0
    if (!line.startsWith('data:')) return line
    const data = line.slice(5).trim()
    if (data === '') return ''
    return this.#mend ? `data: ${this.#mend(data)}` : line
  }
}

/** Messages of AWS, which begin with their length in four bytes. The SDK keeps one until it is whole. */
class Messages {
  /** Bytes that are left of the message. */
  #left = 0
  #length = 0
  #lengthBytes = 0

  take(bytes: Uint8Array): Uint8Array {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at)
        this.#left -= skipped
        at += skipped
        continue
      }
      this.#length = this.#length * 256 + (bytes[at++] ?? 0)
      if (++this.#lengthBytes < 4) continue
      if (this.#length > MAX_EVENT_LENGTH) throw tooLong()
      this.#left = this.#length - 4
      this.#length = this.#lengthBytes = 0
    }
    return bytes
  }

  rest(): Uint8Array {
    return NOTHING
  }
}

const NOTHING = new Uint8Array()

function tooLong(): Error {
  return new UnusableAnswer(`the model answered more than ${MAX_EVENT_LENGTH / 1024 / 1024} MiB in one event`)
}

/** JSON and pages begin with a bracket, which events never do. Other text may be of a field that is not known, if its type says so. */
function beginsForeign(text: string, saysEvents: boolean): boolean | undefined {
  const begun = text.trimStart()
  if (/^[{[<]/.test(begun)) return true
  if (saysEvents || /^(:|data:|event:|id:|retry:)/.test(begun)) return begun === '' ? undefined : false
  return begun.length < 'event:'.length ? undefined : true
}
