/** Observer of a stream. Exactly one of `end` and `fail` is called, once, even if the reader stops early. */
export interface StreamTap {
  part(value: unknown): void
  end(): void
  fail(error: unknown): void
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** The same stream with a listener. Keeps its shape: a `ReadableStream` stays one, an object keeps its other properties. */
export function tapStream(stream: AsyncIterable<unknown>, tap: StreamTap): AsyncIterable<unknown> {
  if (stream instanceof ReadableStream) return tapReadable(stream, tap)
  if (isGenerator(stream)) return tapIterable(stream, tap)
  return new Proxy(stream, {
    get(target, name) {
      if (name === Symbol.asyncIterator) return () => tapIterable(target, tap)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function* tapIterable(stream: AsyncIterable<unknown>, tap: StreamTap): AsyncGenerator<unknown> {
  try {
    for await (const part of stream) {
      tap.part(part)
      yield part
    }
  } catch (error) {
    tap.fail(error)
    throw error
  } finally {
    // Also when the reader leaves early. After a failure this is without effect.
    tap.end()
  }
}

function tapReadable(stream: ReadableStream<unknown>, tap: StreamTap): ReadableStream<unknown> {
  const reader = stream.getReader()
  return new ReadableStream<unknown>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            tap.end()
            controller.close()
          } else {
            tap.part(value)
            controller.enqueue(value)
          }
        } catch (error) {
          tap.fail(error)
          controller.error(error)
        }
      },
      cancel(reason) {
        tap.end()
        return reader.cancel(reason)
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  )
}

function isGenerator(stream: AsyncIterable<unknown>): boolean {
  return Object.prototype.toString.call(stream) === '[object AsyncGenerator]'
}
