import { BYTES } from './idle-timeout.ts'

/** The fetch of every vendor's SDK: each byte of an answer is a sign of life to the call that waits for it. */
export const vendorFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const { body, ok, headers } = response
  const { signal } = init ?? {}
  if (!ok || !body || !signal) return response
  const isBinary = headers.get('content-type')?.includes('amazon.eventstream')
  const events = isBinary ? undefined : new EventLines()
  const heard = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      signal.dispatchEvent(new Event(BYTES))
      controller.enqueue(events ? events.take(bytes) : bytes)
    },
    flush: (controller) => events && controller.enqueue(events.rest()),
  })
  return new Response(body.pipeThrough(heard), response)
}

/** Server-sent events, without the empty ones: the SDK would parse them as JSON. */
class EventLines {
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  #begun = ''

  take(bytes: Uint8Array): Uint8Array {
    const lines = (this.#begun + this.#decoder.decode(bytes, { stream: true })).split('\n')
    this.#begun = lines.pop() ?? ''
    return this.#encoder.encode(lines.map((line) => `${isEmpty(line) ? '' : line}\n`).join(''))
  }

  rest(): Uint8Array {
    return this.#encoder.encode(this.#begun + this.#decoder.decode())
  }
}

function isEmpty(line: string): boolean {
  return line.length < 8 && /^data:\s*$/.test(line)
}
