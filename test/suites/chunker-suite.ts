import type { Chunker } from 'agent-host'
import { expect } from 'chai'
import fc from 'fast-check'
import { makeRun } from '../support/fake-run.ts'

/**
 * What every provider of `Chunker` promises.
 *
 * @param maxBytes no piece of the one that is made is longer
 */
export function describeChunker(makeChunker: () => Chunker | Promise<Chunker>, maxBytes: number): void {
  describe('as a Chunker', () => {
    it('returns a short text whole, and no pieces for an empty one', async () => {
      const chunker = await makeChunker()
      expect(await chunker.chunk('One short sentence.', makeRun())).to.deep.equal(['One short sentence.'])
      expect(await chunker.chunk('', makeRun())).to.deep.equal([])
      expect(await chunker.chunk(' \n ', makeRun())).to.deep.equal([])
    })

    it('loses no word, keeps their order, and exceeds no limit', async () => {
      const chunker = await makeChunker()
      const words = Array.from({ length: 500 }, (_, n) => `word${n}${n % 7 === 0 ? '.' : ''}`)
      const pieces = await chunker.chunk(words.join(' '), makeRun())
      expect(pieces.length).to.be.above(1)
      for (const piece of pieces) expect(Buffer.byteLength(piece)).to.be.at.most(maxBytes)
      const seen = pieces.flatMap((piece) => piece.split(' '))
      expect([...new Set(seen)]).to.deep.equal(words)
    })

    it('splits no character, in any language', async () => {
      const chunker = await makeChunker()
      const text = fc.array(fc.constantFrom('漢字', '👩‍👩‍👧', 'é', ' ', '. ', 'x'.repeat(50), 'naïve', '\n'), {
        maxLength: 60,
      })
      await fc.assert(
        fc.asyncProperty(text, async (parts) => {
          const pieces = await chunker.chunk(parts.join(''), makeRun())
          const known = new Set(characters(parts.join('')))
          for (const piece of pieces) {
            expect(Buffer.byteLength(piece)).to.be.at.most(maxBytes)
            expect(piece).to.equal(piece.trim())
            for (const character of characters(piece)) expect(known.has(character), character).to.equal(true)
          }
          const lost = characters(parts.join('').replace(/\s/g, '')).filter((one) => !pieces.join('').includes(one))
          expect(lost).to.deep.equal([])
        }),
      )
    })

    it('ends with the reason of an aborted run', async () => {
      const run = makeRun()
      run.abort(new Error('enough'))
      const chunker = await makeChunker()
      expect(await chunker.chunk('a', run).catch((error: Error) => error.message)).to.equal('enough')
    })
  })
}

function characters(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}
