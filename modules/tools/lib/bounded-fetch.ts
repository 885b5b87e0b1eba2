/**
 * Makes a `fetch` whose answers fail when more than this many bytes arrive: of a body, or of one event where the body is
 * a stream of server-sent events (HTML Living Standard, section 9.2.5: a blank line ends one).
 */
export function boundedFetch(maxBytes: number): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const body = response.body.pipeThrough(countBytes(maxBytes, isStream))
    return new Response(body, response)
  }
}

function countBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? endOfEvent(chunk) : -1
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end
      if (bytes > maxBytes) throw new Error(`the server answered more than ${maxBytes / 1024 / 1024} MiB`)
      controller.enqueue(chunk)
    },
  })
}

/** Index after the last blank line; -1 without one. */
function endOfEvent(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'))
}
