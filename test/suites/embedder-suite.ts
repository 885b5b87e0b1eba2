import type { Embedder } from 'agent-host'
import { expect } from 'chai'
import { makeRun } from '../support/fake-run.ts'

/** What every provider of `Embedder` promises. */
export function describeEmbedder(makeEmbedder: () => Embedder | Promise<Embedder>): void {
  describe('as an Embedder', () => {
    it('returns one finite vector per text, in order, all of one length', async () => {
      const embedder = await makeEmbedder()
      const texts = ['a short text', 'Ein anderer, längerer Text — mit 😀', '...', 'a short text']
      const vectors = await embedder.embed(texts, makeRun())
      expect(vectors).to.have.length(4)
      expect(new Set(vectors.map(({ length }) => length)).size).to.equal(1)
      for (const vector of vectors) {
        expect(vector).to.be.instanceOf(Float32Array)
        expect(vector.every(Number.isFinite)).to.equal(true)
      }
      expect(vectors[3]).to.deep.equal(vectors[0])
      expect(vectors[1]).not.to.deep.equal(vectors[0])
    })

    it('returns nothing for no texts', async () => {
      expect(await (await makeEmbedder()).embed([], makeRun())).to.deep.equal([])
    })

    it('ends with the reason of an aborted run', async () => {
      const run = makeRun()
      run.abort(new Error('enough'))
      const embedder = await makeEmbedder()
      expect(await embedder.embed(['a'], run).catch((error: Error) => error.message)).to.equal('enough')
    })
  })
}
