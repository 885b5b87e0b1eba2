import { expect } from 'chai'
import { type StreamTap, tapStream } from '../../../src/run/calls/stream-tap.ts'

type Parts = AsyncIterable<unknown>

/** Notes what a tap is told; refuses a part on demand. */
class NotingTap implements StreamTap {
  readonly notes: string[] = []

  part(value: unknown): void {
    if (value === 'refused') throw new Error('no such part')
    this.notes.push(String(value))
  }

  end(): void {
    this.notes.push('end')
  }

  fail(error: unknown): void {
    this.notes.push(`fail: ${(error as Error).message}`)
  }
}

const SHAPES: Readonly<Record<string, (stream: () => AsyncGenerator<string>) => Parts>> = {
  generator: (stream) => stream(),
  iterable: (stream) => ({ [Symbol.asyncIterator]: stream }),
  ReadableStream: (stream) => {
    const parts = stream()
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await parts.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await parts.return(undefined)),
    })
  },
}

for (const [shape, make] of Object.entries(SHAPES)) {
  describe(`a tapped ${shape}`, () => {
    let notes: string[]
    let isClosed: boolean

    /** Parts of the stream; an Error among them is thrown. */
    function tap(...parts: readonly (string | Error)[]): Parts {
      const listener = new NotingTap()
      notes = listener.notes
      isClosed = false
      const stream = async function* () {
        try {
          for (const part of parts) {
            if (part instanceof Error) throw part
            yield part
          }
        } finally {
          isClosed = true
        }
      }
      return tapStream(make(stream), listener)
    }

    async function read(stream: Parts, count = Number.POSITIVE_INFINITY): Promise<string[]> {
      const read: string[] = []
      try {
        for await (const part of stream) if (read.push(String(part)) === count) break
      } catch (error) {
        read.push(`error: ${(error as Error).message}`)
      }
      return read
    }

    it('passes on each part and the end', async () => {
      expect(await read(tap('a', 'b'))).deep.equal(['a', 'b'])
      expect(notes).deep.equal(['a', 'b', 'end'])
    })

    it('passes on an error', async () => {
      expect(await read(tap('a', new Error('broken')))).deep.equal(['a', 'error: broken'])
      expect(notes).deep.equal(['a', 'fail: broken'])
    })

    it('ends, and closes its source, when its reader leaves', async () => {
      expect(await read(tap('a', 'b', 'c'), 2)).deep.equal(['a', 'b'])
      expect(notes).deep.equal(['a', 'b', 'end'])
      expect(isClosed).equal(true)
    })

    it('gives its reader, and the listeners after it, what a listener puts in the place of a part', async () => {
      const order: unknown[] = []
      const replacing: StreamTap = {
        replace: (value) => `${value}!`,
        part: (value) => order.push(value),
        end() {},
        fail() {},
      }
      const last: StreamTap = { part: (value) => order.push(value), end() {}, fail() {} }
      const replaced = tapStream(tapStream(tap('a', 'b'), replacing), last)
      expect(await read(replaced)).deep.equal(['a!', 'b!'])
      expect([notes, order]).deep.equal([
        ['a', 'b', 'end'],
        ['a!', 'a!', 'b!', 'b!'],
      ])
    })

    it('tells its listeners in the order in which they were added', async () => {
      const order: string[] = []
      const listener = (name: string): StreamTap => ({
        part: (value) => order.push(`${name} ${value}`),
        end: () => order.push(`${name} end`),
        fail: () => order.push(`${name} fail`),
      })
      const twice = tapStream(tap('a', 'b'), listener('second'))
      expect(await read(tapStream(twice, listener('third')))).deep.equal(['a', 'b'])
      expect(notes).deep.equal(['a', 'b', 'end'])
      expect(order).deep.equal(['second a', 'third a', 'second b', 'third b', 'second end', 'third end'])
    })

    it('has not failed for the listeners before the one that refuses a part', async () => {
      const refusing = new NotingTap()
      const last = new NotingTap()
      const inner: StreamTap = {
        part: () => {},
        end: () => notes.push('inner end'),
        fail: () => notes.push('inner fail'),
      }
      const stream = tapStream(
        tapStream(
          tapStream(
            make(async function* () {
              yield 'refused'
            }),
            inner,
          ),
          refusing,
        ),
        last,
      )
      notes = []
      expect(await read(stream)).deep.equal(['error: no such part'])
      expect([notes, refusing.notes, last.notes]).deep.equal([
        ['inner end'],
        ['fail: no such part'],
        ['fail: no such part'],
      ])
    })

    it('fails, and closes its source, when the listener refuses a part', async () => {
      expect(await read(tap('a', 'refused', 'c'))).deep.equal(['a', 'error: no such part'])
      expect(notes).deep.equal(['a', 'fail: no such part'])
      expect(isClosed).equal(true)
    })
  })
}

describe('a tapped generator', () => {
  it('that has ended tells a listener that is added then of its end', async () => {
    const stream = tapStream(SHAPES.generator?.(async function* () {}) as Parts, new NotingTap())
    for await (const _part of stream);
    const late = new NotingTap()
    for await (const _part of tapStream(stream, late));
    expect(late.notes).deep.equal(['end'])
  })
})
