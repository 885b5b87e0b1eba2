import type { VectorIndex } from 'agent-host'
import { expect } from 'chai'
import fc from 'fast-check'
import { makeRun } from '../support/fake-run.ts'

const run = makeRun()
const vector = (...numbers: number[]) => Float32Array.from(numbers)

/** What every provider of `VectorIndex` promises; the one that is made is empty. */
export function describeVectorIndex(makeIndex: () => VectorIndex | Promise<VectorIndex>): void {
  describe('as a VectorIndex', () => {
    it('finds the nearest first, with the cosine, however long the vectors are', async () => {
      const index = await makeIndex()
      await index.add('up', vector(0, 5), run)
      await index.add('right', vector(0.1, 0), run)
      await index.add('between', vector(2, 2), run)
      const found = await index.search(vector(0, 3), 2, run)
      expect(found.map(({ id }) => id)).to.deep.equal(['up', 'between'])
      expect(found[0]?.score).to.be.closeTo(1, 1e-5)
      expect(found[1]?.score).to.be.closeTo(Math.SQRT1_2, 1e-5)
    })

    it('replaces the vector of an id', async () => {
      const index = await makeIndex()
      await index.add('a', vector(1, 0), run)
      await index.add('a', vector(0, 1), run)
      expect(await index.search(vector(0, 1), 5, run)).to.deep.equal([{ id: 'a', score: 1 }])
    })

    it('deletes vectors, and ignores unknown ids', async () => {
      const index = await makeIndex()
      await index.add('a', vector(1, 0), run)
      await index.add('b', vector(0, 1), run)
      expect([await index.remove('a', run), await index.remove('a', run), await index.remove('x', run)]).to.deep.equal([
        true,
        false,
        false,
      ])
      expect((await index.search(vector(1, 0), 5, run)).map(({ id }) => id)).to.deep.equal(['b'])
    })

    it('finds nothing in an empty index or with a limit of 0', async () => {
      const index = await makeIndex()
      expect(await index.search(vector(1, 0), 5, run)).to.deep.equal([])
      await index.add('a', vector(1, 0), run)
      expect(await index.search(vector(1, 0), 0, run)).to.deep.equal([])
    })

    it('copies vectors, so later changes by the caller have no effect', async () => {
      const index = await makeIndex()
      const mine = vector(1, 0)
      await index.add('a', mine, run)
      mine.fill(0)
      expect(await index.search(vector(1, 0), 1, run)).to.deep.equal([{ id: 'a', score: 1 }])
    })

    it('rejects vectors of another length, and values that are not numbers', async () => {
      const index = await makeIndex()
      await index.add('a', vector(1, 0), run)
      const failure = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message)
      expect(await failure(index.add('b', vector(1, 0, 0), run))).to.match(/vectors of 2 numbers.* has 3/)
      expect(await failure(index.search(vector(1), 1, run))).to.match(/vectors of 2 numbers.* has 1/)
      expect(await failure(index.add('b', vector(Number.NaN, 1), run))).to.match(/finite numbers/)
      expect((await index.search(vector(1, 0), 9, run)).length).to.equal(1)
    })

    it('does nothing for an ended run', async () => {
      const index = await makeIndex()
      const ended = makeRun()
      ended.abort(new Error('enough'))
      const failure = await index.add('a', vector(1), ended).catch((error: Error) => error.message)
      expect(failure).to.equal('enough')
      expect(await index.search(vector(1), 1, run)).to.deep.equal([])
    })

    it('matches a sorted list after random changes', async () => {
      const id = fc.constantFrom(...'abcdefghij')
      const numbers = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 5, maxLength: 5 })
      const step = fc.record({ id, numbers: fc.option(numbers) })
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 30 }),
          numbers,
          fc.integer({ min: 1, max: 200 }),
          async (steps, asked, limit) => {
            const index = await makeIndex()
            const expected = new Map<string, number[]>()
            for (const { id, numbers } of steps) {
              if (numbers) await index.add(id, vector(...numbers), run)
              else expect(await index.remove(id, run)).to.equal(expected.has(id))
              if (numbers) expected.set(id, numbers)
              else expected.delete(id)
            }
            const found = await index.search(vector(...asked), limit, run)
            const scores = [...expected.values()].map((numbers) => cosine(numbers, asked)).sort((a, b) => b - a)
            expect(found.length).to.equal(Math.min(limit, expected.size))
            for (const [place, { id, score }] of found.entries()) {
              expect(score).to.be.closeTo(scores[place] as number, 1e-5)
              expect(score).to.be.closeTo(cosine(expected.get(id) as number[], asked), 1e-5)
            }
            expect(new Set(found.map(({ id }) => id)).size).to.equal(found.length)
          },
        ),
        { numRuns: 50 },
      )
    })
  })
}

function cosine(a: number[], b: number[]): number {
  const dot = (x: number[], y: number[]) => x.reduce((sum, number, at) => sum + number * (y[at] as number), 0)
  const lengths = Math.sqrt(dot(a, a) * dot(b, b))
  return lengths === 0 ? 0 : dot(a, b) / lengths
}
