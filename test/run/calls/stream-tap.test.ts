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

    it('fails, and closes its source, when the listener refuses a part', async () => {
      expect(await read(tap('a', 'refused', 'c'))).deep.equal(['a', 'error: no such part'])
      expect(notes).deep.equal(['a', 'fail: no such part'])
      expect(isClosed).equal(true)
    })
  })
}
