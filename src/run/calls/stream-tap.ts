import { types } from 'node:util'

/** Observer of a stream. Exactly one of `end` and `fail` is called, once, even if the reader stops early. */
export interface StreamTap {
  /** Returns what takes the place of a part, for this listener too. */
  replace?(value: unknown): unknown
  part(value: unknown): void
  end(): void
  fail(error: unknown): void
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Recognizes a generator without reading its properties: each run creates new generator functions, and V8 is slow to read a new one. */
export function isGenerator(value: unknown): value is AsyncGenerator<unknown> {
  return types.isGeneratorObject(value)
}

/**
 * The same stream with a listener. Keeps its shape: a `ReadableStream` stays one, an object keeps its other properties. Listeners
 * hear of a part in the order in which they came.
 */
export function tapStream(stream: AsyncIterable<unknown>, tap: StreamTap): AsyncIterable<unknown> {
  if (stream instanceof TappedGenerator) return stream.add(tap)
  if (isGenerator(stream)) return new TappedGenerator(stream, tap)
  if (stream instanceof ReadableStream) return tapReadable(stream, tap)
  return new Proxy(stream, {
    get(target, name) {
      if (name === Symbol.asyncIterator) return () => new TappedGenerator(target[Symbol.asyncIterator](), tap)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Passes a stream on, and tells its listeners. A class, because a second generator function would cost two more turns for each part. */
class TappedGenerator implements AsyncGenerator<unknown, unknown, unknown> {
  readonly #iterator: AsyncIterator<unknown, unknown, unknown>
  /** Read once, as `for await` does. */
  readonly #next: AsyncIterator<unknown, unknown, unknown>['next']
  readonly #taps: StreamTap[]
  #isOver = false

  constructor(iterator: AsyncIterator<unknown, unknown, unknown>, tap: StreamTap) {
    this.#iterator = iterator
    this.#next = iterator.next
    this.#taps = [tap]
  }

  /** Adds a listener: one generator around another would cost each part another turn. */
  add(tap: StreamTap): TappedGenerator {
    if (this.#isOver) return new TappedGenerator(this, tap)
    this.#taps.push(tap)
    return this
  }

  async next(): Promise<IteratorResult<unknown, unknown>> {
    let result: IteratorResult<unknown, unknown>
    try {
      result = await this.#next.call(this.#iterator)
    } catch (error) {
      this.#fail(error)
      throw error
    }
    if (result.done) {
      this.#end()
      return result
    }
    let { value } = result
    for (const tap of this.#taps) {
      try {
        if (tap.replace) value = tap.replace(value)
        tap.part(value)
      } catch (error) {
        return this.#refuse(error, tap)
      }
    }
    return value === result.value ? result : { done: false, value }
  }

  /** Ends the stream early, for its reader. */
  async return(value?: unknown): Promise<IteratorResult<unknown, unknown>> {
    this.#end()
    return this.#iterator.return ? this.#iterator.return(value) : { done: true, value }
  }

  async throw(error: unknown): Promise<IteratorResult<unknown, unknown>> {
    this.#fail(error)
    await this.#iterator.return?.()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Ends the stream when a listener refuses a part: for those before it, the stream has not failed. */
  async #refuse(error: unknown, refusing: StreamTap): Promise<never> {
    const before = this.#isOver ? [] : this.#taps.splice(0, this.#taps.indexOf(refusing))
    this.#fail(error)
    for (const tap of before) tap.end()
    await this.#iterator.return?.()
    throw error
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const tap of this.#taps) tap.end()
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const tap of this.#taps) tap.fail(error)
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
            const taken = tap.replace ? tap.replace(value) : value
            tap.part(taken)
            controller.enqueue(taken)
          }
        } catch (error) {
          tap.fail(error)
          controller.error(error)
          // Closes a source whose part the tap has refused.
          await reader.cancel(error)
        }
      },
      cancel(reason) {
        tap.end()
        return reader.cancel(reason)
      },
    },
    // Reading begins with the first request for a part.
    { highWaterMark: 0 },
  )
}
