import type { Storage } from 'agent-host'
import { expect } from 'chai'

/** Promises of every `Storage`. @param open gives the storage of a module that has none yet, as this and another server have it */
export function describeStorage(open: () => Promise<readonly [Storage, Storage]>): void {
  describe('as a Storage', () => {
    const keys = (found: readonly { key: string }[]) => found.map(({ key }) => key)

    it('sets, gets, replaces and deletes any JSON value, for all servers', async () => {
      const [one, other] = await open()
      const value = { text: 'é "1"', list: [1, null, true], nested: {} }
      await one.set('a/b', value)
      expect(await other.get('a/b')).to.deep.equal(value)
      await other.set('a/b', 'text')
      expect(await one.get('a/b')).to.equal('text')
      await one.delete('a/b')
      await one.delete('a/b')
      expect(await other.get('a/b')).to.equal(undefined)
    })

    it('lists a range in the order of its keys', async () => {
      const [storage] = await open()
      for (const key of ['b/2', 'a/1', 'b/10', 'b', 'b/1', 'c']) await storage.set(key, key)
      const list = async (more: object) => keys(await storage.list({ prefix: 'b/', limit: 10, ...more }))
      expect(await storage.list({ prefix: 'b', limit: 2 })).to.deep.equal([
        { key: 'b', value: 'b' },
        { key: 'b/1', value: 'b/1' },
      ])
      expect(await list({})).to.deep.equal(['b/1', 'b/10', 'b/2'])
      expect(await list({ after: 'b/1', limit: 1 })).to.deep.equal(['b/10'])
      expect(await list({ order: 'desc' })).to.deep.equal(['b/2', 'b/10', 'b/1'])
      expect(await list({ order: 'desc', after: 'b/2' })).to.deep.equal(['b/10', 'b/1'])
    })

    it('replaces a value only if it is still the expected one', async () => {
      const [one, other] = await open()
      await one.set('ab', 0)
      expect(await one.replace('a', undefined, { n: 1 })).to.equal(true)
      expect(await other.replace('a', undefined, { n: 2 })).to.equal(false)
      expect(await other.replace('a', { n: 1 }, { n: 2 })).to.equal(true)
      expect(await one.replace('a', { n: 1 }, { n: 3 })).to.equal(false)
      expect(await one.replace('a', { n: 2 }, undefined)).to.equal(true)
      expect(await other.get('a')).to.equal(undefined)
    })

    it('numbers log entries without gaps, however many append at once', async () => {
      const [one, other] = await open()
      await one.append('log2', 'of another log')
      const appended = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).append('log', n)),
      )
      const entries = await other.list({ prefix: 'log/', limit: 100 })
      const number = (n: number) => `log/${String(n).padStart(12, '0')}`
      expect(keys(entries)).to.deep.equal(Array.from({ length: 20 }, (_, n) => number(n)))
      expect([...appended].sort()).to.deep.equal(keys(entries))
      for (const { key, value } of entries) expect(appended[value as number]).to.equal(key)
      await one.delete(number(19))
      expect(await other.append('log', 'next')).to.equal(number(20))
      expect(await one.list({ prefix: 'log/', after: number(18), limit: 9 })).to.deep.equal([
        { key: number(20), value: 'next' },
      ])
    })

    it('rejects invalid keys, and values that are not JSON', async () => {
      const [storage] = await open()
      const failure = (act: () => Promise<unknown>) => act().then(String, (error: Error) => error.name)
      for (const key of ['a b', 'é', 'a!', 'a\n', 'x'.repeat(401)]) {
        expect([key, await failure(async () => storage.set(key, 1))]).to.deep.equal([key, 'TypeError'])
      }
      expect(await failure(async () => storage.set('a', undefined))).to.equal('TypeError')
    })
  })
}
