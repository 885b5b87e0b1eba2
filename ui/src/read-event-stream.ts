import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'

/** Reads server-sent events, in their order. */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<EventSourceMessage> {
  const texts = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
  const reader = texts.pipeThrough(new EventSourceParserStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}
