import { expect } from 'chai'
import fc from 'fast-check'
import type { Change, RecordStore } from '../../src/store/record-store.ts'

/** What every store of records promises. */
export function describeRecordStore(openStore: () => Promise<RecordStore>, reopen: () => Promise<RecordStore>): void {
  describe('as a RecordStore', () => {
    let store: RecordStore

    beforeEach(async () => {
      store = await openStore()
    })

    afterEach(() => store.close())

    it('gives back what was committed, in the order asked for, and undefined for what is not there', async () => {
      expect(await store.commit([text('a', 1), text('b', { two: [2] })])).to.equal(true)
      expect(await store.get(['b', 'none', 'a'])).to.deep.equal(['{"two":[2]}', undefined, '1'])
    })

    it('keeps every character', async () => {
      const value = JSON.stringify({ text: `"expires":1 {"value":} \u0000 \ud800 \u2028 ${'ü€😀'.repeat(1000)}` })
      await store.commit([['a', value]])
      expect(await store.get(['a'])).to.deep.equal([value])
    })

    it('replaces and removes', async () => {
      await store.commit([text('a', 1), text('b', 1)])
      await store.commit([text('a', 2), ['b', undefined], ['never-there', undefined]])
      expect(await store.get(['a', 'b'])).to.deep.equal(['2', undefined])
      expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['a'])
    })

    it('changes nothing when a key that must be there is not', async () => {
      await store.commit([text('a', 1)])
      expect(await store.commit([text('a', 2), text('b', 2)], { present: ['a', 'x'] })).to.equal(false)
      expect(await store.get(['a', 'b'])).to.deep.equal(['1', undefined])
      expect(await store.commit([text('a', 3)], { present: ['a'] })).to.equal(true)
    })

    it('changes nothing when there is a key under a prefix that must be free', async () => {
      await store.commit([text('branch:a:1', 1)])
      expect(await store.commit([text('a', 2)], { absent: ['branch:a:'] })).to.equal(false)
      expect(await store.commit([text('a', 2)], { absent: ['branch:b:', 'branch:a:2'] })).to.equal(true)
      expect(await store.get(['a'])).to.deep.equal(['2'])
      for (const [prefix, isFree] of [
        ['branch:', false],
        ['b:', true],
        ['branch:a', false],
        ['a', false],
        ['c', true],
        ['a', false],
      ] as const) {
        expect(await store.commit([text('z', 1)], { absent: [prefix] }), prefix).to.equal(isFree)
      }
    })

    it('lets exactly one of many commits through that exclude each other', async () => {
      const commits = Array.from({ length: 50 }, (_, n) => store.commit([text('key', n)], { absent: ['key'] }))
      const won = (await Promise.all(commits)).flatMap((done, n) => (done ? [n] : []))
      expect(won).to.have.length(1)
      expect(await store.get(['key'])).to.deep.equal([String(won[0])])
    })

    it('refuses keys that a backend could not keep apart', async () => {
      for (const key of ['', 'a b', 'a\0b', 'ä']) {
        const failure = await store.commit([text(key, 1)]).catch((error: Error) => error.message)
        expect(failure).to.equal(`'${key}' cannot be the key of a record.`)
      }
    })

    it('lists like a sorted array, whatever the range', async () => {
      const key = fc.stringMatching(/^[ab:-]{1,4}$/)
      const range = fc.record(
        {
          prefix: fc.stringMatching(/^[ab:-]{0,2}$/),
          after: key,
          before: key,
          order: fc.constantFrom('asc' as const, 'desc' as const),
          limit: fc.integer({ min: 1, max: 5 }),
        },
        { requiredKeys: ['prefix', 'limit'] },
      )
      const present = new Set<string>()
      await fc.assert(
        fc.asyncProperty(
          fc.array(key, { maxLength: 5 }),
          fc.array(key, { maxLength: 2 }),
          range,
          async (add, drop, asked) => {
            await store.commit(add.map((name) => text(name, 1)))
            for (const name of add) present.add(name)
            await store.commit(drop.map((name): Change => [name, undefined]))
            for (const name of drop) present.delete(name)
            const all = [...present].sort().filter((name) => name.startsWith(asked.prefix))
            const { after, before } = asked
            const between = all.filter(
              (name) => (after === undefined || name > after) && (before === undefined || name < before),
            )
            const ordered = asked.order === 'desc' ? between.reverse() : between
            expect(await store.list(asked)).to.deep.equal(ordered.slice(0, asked.limit))
          },
        ),
        { numRuns: 200 },
      )
    })

    it('has everything when it is opened again', async () => {
      await store.commit(Array.from({ length: 450 }, (_, n) => text(`k${n}`, n)))
      await store.commit([['k7', undefined]])
      await store.close()
      store = await reopen()
      expect(await store.get(['k0', 'k7', 'k449'])).to.deep.equal(['0', undefined, '449'])
      expect(await store.list({ prefix: 'k', limit: 1000 })).to.have.length(449)
    })

    it('knows that it is itself alive, and of no stranger', async () => {
      expect(await store.isServerAlive(store.serverId)).to.equal(true)
      expect(await store.isServerAlive('6f9619ff-8b86-4011-b42d-00cf4fc964ff')).to.equal(false)
    })
  })
}

function text(key: string, value: unknown): Change {
  return [key, JSON.stringify(value)]
}
