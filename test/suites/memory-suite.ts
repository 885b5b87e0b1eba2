import type { Memory } from 'agent-host'
import { expect } from 'chai'
import { makeRun } from '../support/fake-run.ts'

const run = makeRun()

/** What every provider of `Memory` promises; the one that is made is empty. */
export function describeMemory(makeMemory: () => Promise<Memory>): void {
  describe('as a Memory', () => {
    it('remembers a text with its metadata, under an id of its own', async () => {
      const memory = await makeMemory()
      const metadata = { source: 'chat', tags: ['pet'], nested: { n: 1 } }
      const id = await memory.store('The dog is called Rex.', metadata, run)
      expect(await memory.store('The dog is called Rex.', {}, run)).not.to.equal(id)
      expect(await memory.get(id, run)).to.deep.equal({ id, text: 'The dog is called Rex.', metadata })
      expect(await memory.get('none', run)).to.equal(undefined)
    })

    it('finds the nearest first, up to the limit', async () => {
      const memory = await makeMemory()
      await memory.store('Our dog is called Rex and eats bones.', {}, run)
      await memory.store('The train to Rome leaves at noon.', { line: 7 }, run)
      await memory.store('Tax forms are due in May.', {}, run)
      const found = await memory.search('When does the train to Rome leave?', 2, run)
      expect(found).to.have.length(2)
      expect(found[0]).to.deep.include({ text: 'The train to Rome leaves at noon.', metadata: { line: 7 } })
      expect(found[0]?.score).to.be.above(found[1]?.score as number)
      expect(await memory.search('train', 0, run)).to.deep.equal([])
    })

    it('lists every entry, oldest first, even after a change', async () => {
      const memory = await makeMemory()
      const first = await memory.store('one', {}, run)
      await memory.store('two', {}, run)
      await memory.update(first, 'uno', {}, run)
      expect((await memory.list(run)).map(({ text }) => text)).to.deep.equal(['uno', 'two'])
    })

    it('replaces text and metadata, and finds the entry only by its new text', async () => {
      const memory = await makeMemory()
      const id = await memory.store('The meeting is on Monday.', { a: 1 }, run)
      expect(await memory.update(id, 'Strawberries cost three euros.', { b: 2 }, run)).to.equal(true)
      const [found, ...others] = await memory.search('strawberries', 5, run)
      expect(found).to.deep.include({ id, text: 'Strawberries cost three euros.', metadata: { b: 2 } })
      expect(others).to.deep.equal([])
      expect(await memory.update('none', 'x', {}, run)).to.equal(false)
    })

    it('deletes entries', async () => {
      const memory = await makeMemory()
      const id = await memory.store('a secret', {}, run)
      expect([await memory.delete(id, run), await memory.delete(id, run)]).to.deep.equal([true, false])
      expect([await memory.get(id, run), await memory.list(run), await memory.search('secret', 5, run)]).to.deep.equal([
        undefined,
        [],
        [],
      ])
    })

    it('loses nothing when many texts are stored at once', async () => {
      const memory = await makeMemory()
      const ids = await Promise.all(Array.from({ length: 100 }, (_, n) => memory.store(`fact number ${n}`, { n }, run)))
      expect(new Set(ids).size).to.equal(100)
      expect((await memory.list(run)).map(({ metadata }) => metadata.n).sort()).to.deep.equal(
        Array.from({ length: 100 }, (_, n) => n).sort(),
      )
    })

    it('rejects an empty text', async () => {
      const memory = await makeMemory()
      const failure = await memory.store(' ', {}, run).catch((error: Error) => error.message)
      expect(failure).to.equal('There is nothing to remember: the text is empty.')
      expect(await memory.list(run)).to.deep.equal([])
    })
  })
}
