import { EventSourceParserStream } from 'eventsource-parser/stream'

/** One question to an agent through the public API, as any client would send it. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
  readonly key: string
  readonly signal: AbortSignal
  readonly onText: (text: string) => void
  /** The id of the run, with the first chunk. */
  readonly onRun: (runId: string) => void
}

interface Chunk {
  readonly id?: string
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[]
  readonly error?: { readonly message: string }
}

/** @throws Error that says what the server answered */
export async function streamChat({ model, messages, key, signal, onText, onRun }: ChatRequest): Promise<void> {
  const response = await fetch('compat/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({ model, messages, stream: true }),
    signal,
  })
  if (!response.ok || !response.body) {
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
    throw new Error(detail ?? `The server answered ${response.status}.`)
  }
  for await (const chunk of readChunks(response.body)) {
    if (chunk.error) throw new Error(chunk.error.message)
    if (chunk.id) onRun(chunk.id.replace(/^chatcmpl-/, ''))
    const text = chunk.choices?.[0]?.delta.content
    if (text) onText(text)
  }
}

async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  const texts = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
  const reader = texts.pipeThrough(new EventSourceParserStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done || value.data === '[DONE]') return
    yield JSON.parse(value.data) as Chunk
  }
}
