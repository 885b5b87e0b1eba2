import { expect } from 'chai'
import fc from 'fast-check'
import { appendLog, readLog, readLogs, removeLog } from '../../src/store/record-log.ts'
import type { Change, RecordStore } from '../../src/store/record-store.ts'
import { eventually } from '../support/eventually.ts'

/** What every store of records promises. */
export function describeRecordStore(
  openStore: () => Promise<RecordStore>,
  reopen: () => Promise<RecordStore>,
  { isForOneServer = false } = {},
): void {
  describe('as a RecordStore', () => {
    let store: RecordStore

    beforeEach(async () => {
      store = await openStore()
    })

    afterEach(() => store.close())

    it('returns committed values in the requested order, and undefined for unknown keys', async () => {
      expect(await store.commit([text('a', 1), text('b', { two: [2] })])).to.equal(true)
      expect(await store.get(['b', 'none', 'a'])).to.deep.equal(['{"two":[2]}', undefined, '1'])
    })

    it('keeps every character', async () => {
      const value = JSON.stringify({ text: `"expires":1 {"value":} \u0000 \ud800 \u2028 ${'ü€😀'.repeat(1000)}` })
      await store.commit([['a', value]])
      expect(await store.get(['a'])).to.deep.equal([value])
    })

    it('replaces and deletes', async () => {
      await store.commit([text('a', 1), text('b', 1)])
      await store.commit([text('a', 2), ['b', undefined], ['never-there', undefined]])
      expect(await store.get(['a', 'b'])).to.deep.equal(['2', undefined])
      expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['a'])
    })

    it('changes nothing if a required key is missing', async () => {
      await store.commit([text('a', 1)])
      expect(await store.commit([text('a', 2), text('b', 2)], { present: ['a', 'x'] })).to.equal(false)
      expect(await store.get(['a', 'b'])).to.deep.equal(['1', undefined])
      expect(await store.commit([text('a', 3)], { present: ['a'] })).to.equal(true)
    })

    it('changes nothing if a key exists under a prefix that must be empty', async () => {
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

    it('changes nothing if a record does not have the expected value', async () => {
      const value = JSON.stringify({ server: 'one', text: 'ü"\\ ' })
      await store.commit([['owner', value]])
      const fenced = (n: number, mark: string) => store.commit([text('a', n)], { equal: [['owner', mark]] })
      expect(await fenced(1, JSON.stringify({ server: 'other' }))).to.equal(false)
      expect(await fenced(2, value)).to.equal(true)
      await store.commit([text('owner', 'another')])
      expect(await fenced(3, value)).to.equal(false)
      await store.commit([['owner', undefined]])
      expect(await fenced(4, value)).to.equal(false)
      expect(await store.get(['a'])).to.deep.equal(['2'])
    })

    it('refuses every write of a replaced owner, however many commits come at once', async () => {
      await store.commit([text('owner', 0)])
      const takeOver = (n: number) => store.commit([text('owner', n + 1)], { equal: [['owner', String(n)]] })
      const write = (n: number) => store.commit([text(`by:${n}`, n)], { equal: [['owner', String(n)]] })
      const done = await Promise.all([write(0), takeOver(0), write(0), write(1), takeOver(1), takeOver(0), write(1)])
      expect(done).to.deep.equal([true, true, false, true, true, false, false])
      expect(await store.list({ prefix: 'by:', limit: 10 })).to.deep.equal(['by:0', 'by:1'])
    })

    it('returns the entries of a range', async () => {
      await store.commit([text('a', 1), text('b:1', { one: 1 }), text('b:2', 'ü'), text('b:3', 3), text('c', 4)])
      expect(await store.entries({ prefix: 'b:', after: 'b:1', limit: 10 })).to.deep.equal([
        ['b:2', '"ü"'],
        ['b:3', '3'],
      ])
      expect(await store.entries({ prefix: '', order: 'desc', limit: 2 })).to.deep.equal([
        ['c', '4'],
        ['b:3', '3'],
      ])
    })

    it('returns the entries of several ranges, each in order', async () => {
      await store.commit([text('a:1', 1), text('a:2', 'ü'), text('b:1', 3), text('b:2', 4)])
      const ranges = [
        { prefix: 'b:', limit: 1 },
        { prefix: 'none', limit: 10 },
        { prefix: 'a:', limit: 10 },
      ]
      const all = await store.entriesOfEach([...ranges, { prefix: 'b:', after: 'b:1', limit: 10 }])
      expect(all).to.deep.equal([
        [['b:1', '3']],
        [],
        [
          ['a:1', '1'],
          ['a:2', '"ü"'],
        ],
        [['b:2', '4']],
      ])
      expect(await store.entriesOfEach([])).to.deep.equal([])
    })

    it('keeps a numbered log, read from any number on', async () => {
      const numbers = Array.from({ length: 12 }, (_, n) => n)
      for (const n of numbers) await store.commit([appendLog('log:a', n, String(n))])
      await store.commit([appendLog('log:ab', 0, '"another"')])
      expect(await readLog(store, 'log:a')).to.deep.equal(numbers.map(String))
      expect(await readLog(store, 'log:a', 9)).to.deep.equal(['9', '10', '11'])
      expect(await readLog(store, 'log:a', 12)).to.deep.equal([])
      const logs = [
        { log: 'log:ab', from: 0 },
        { log: 'log:a', from: 11 },
        { log: 'log:a', from: 12 },
      ]
      expect(await readLogs(store, logs)).to.deep.equal([['"another"'], ['11'], []])
      await store.commit(removeLog('log:a', 12))
      expect([await readLog(store, 'log:a'), await readLog(store, 'log:ab')]).to.deep.equal([[], ['"another"']])
    })

    it('wakes the watchers of a committed topic', async () => {
      const heard: string[] = []
      const endOne = store.watch(['run:1', 'run:2'], () => heard.push('one'))
      const endTwo = store.watch(['run:2'], () => heard.push('two'))
      const isAlone = () => new Promise((resolve) => setTimeout(resolve, 50))
      await store.commit([text('a', 1)], {}, ['run:1', 'run:3'])
      await eventually(() => expect(heard).to.include('one'))
      heard.length = 0
      await store.commit([text('a', 1)], {}, ['run:2'])
      await eventually(() => expect(heard).to.include.members(['one', 'two']))
      endOne()
      heard.length = 0
      await store.commit([text('a', 2)], { present: ['none'] }, ['run:2'])
      await isAlone()
      expect(heard).to.deep.equal([])
      await store.commit([text('a', 1)], {}, ['run:2'])
      await eventually(() => expect(heard).to.deep.equal(['two']))
      endTwo()
    })

    it('accepts exactly one of many conflicting commits', async () => {
      const commits = Array.from({ length: 50 }, (_, n) => store.commit([text('key', n)], { absent: ['key'] }))
      const won = (await Promise.all(commits)).flatMap((done, n) => (done ? [n] : []))
      expect(won).to.have.length(1)
      expect(await store.get(['key'])).to.deep.equal([String(won[0])])
    })

    it('rejects keys that a backend could confuse', async () => {
      for (const key of ['', 'a b', 'a\0b', 'ä']) {
        const failure = await store.commit([text(key, 1)]).catch((error: Error) => error.message)
        expect(failure).to.equal(`'${key}' cannot be the key of a record.`)
      }
    })

    it('refuses the same as the ends of a range, and takes any limit', async () => {
      await store.commit([['end:a', '1']])
      for (const bound of [{ after: 'end:\0' }, { before: 'end:ü' }]) {
        const range = { prefix: 'end:', limit: 1, ...bound }
        for (const read of [store.list(range), store.entries(range), store.entriesOfEach([range])])
          expect(await read.catch(({ code }) => code)).to.equal('REQUEST_INVALID')
      }
      const range = { prefix: 'end:', limit: Number.MAX_SAFE_INTEGER }
      expect(await store.list(range)).to.deep.equal(['end:a'])
      expect(await store.entries(range)).to.deep.equal([['end:a', '1']])
      expect(await store.entriesOfEach([range])).to.deep.equal([[['end:a', '1']]])
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

    it('keeps everything across a restart', async () => {
      await store.commit(Array.from({ length: 450 }, (_, n) => text(`k${n}`, n)))
      await store.commit([['k7', undefined]])
      await store.close()
      store = await reopen()
      expect(await store.get(['k0', 'k7', 'k449'])).to.deep.equal(['0', undefined, '449'])
      expect(await store.list({ prefix: 'k', limit: 1000 })).to.have.length(449)
    })

    it('has a clock', async () => {
      const [before, now, after] = [Date.now(), await store.now(), Date.now()]
      expect(now).to.be.within(before - 1000, after + 1000)
    })

    it('reports itself as alive, and unknown servers as dead', async () => {
      expect(await store.isServerAlive(store.serverId)).to.equal(true)
      expect(await store.isServerAlive('6f9619ff-8b86-4011-b42d-00cf4fc964ff')).to.equal(false)
    })

    describe('with another server', () => {
      let other: RecordStore

      beforeEach(async function () {
        if (isForOneServer) this.skip()
        other = await reopen()
      })

      afterEach(() => other?.close())

      it("sees the other's commits, and checks guards against them", async () => {
        await store.commit([text('a', 1)])
        expect(await other.get(['a'])).to.deep.equal(['1'])
        expect(await other.commit([text('a', 2)], { absent: ['a'] })).to.equal(false)
        expect(await other.commit([text('a', 2)], { equal: [['a', '1']] })).to.equal(true)
        expect(await store.commit([text('a', 3)], { equal: [['a', '1']] })).to.equal(false)
      })

      it('accepts exactly one of two conflicting commits, every time', async () => {
        for (let round = 0; round < 30; round++) {
          await store.commit([text('branch', 1), [`leaf:${round}`, undefined]])
          const won = await Promise.all([
            store.commit([text(`leaf:${round}`, 1)], { present: ['branch'] }),
            other.commit([['branch', undefined]], { present: ['branch'], absent: [`leaf:${round}`] }),
          ])
          expect(won.filter(Boolean), `round ${round}`).to.have.length(1)
        }
      })

      it('numbers without gaps when both append at once', async () => {
        await store.commit([text('count', 0)])
        const count = async (by: RecordStore) => {
          for (let done = 0; done < 25; ) {
            const [value = ''] = await by.get(['count'])
            if (await by.commit([text('count', Number(value) + 1)], { equal: [['count', value]] })) done++
          }
        }
        await Promise.all([count(store), count(other), count(store), count(other)])
        expect(await store.get(['count'])).to.deep.equal(['100'])
      })

      it('moves amounts between records without losing any when both write at once', async () => {
        const accounts = ['a', 'b', 'c', 'd', 'e', 'f']
        await store.commit(accounts.map((key) => text(key, 100)))
        const move = async (by: RecordStore, n: number) => {
          const pair = [accounts[n % 6], accounts[((n % 6) + 1 + (n % 5)) % 6]] as [string, string]
          const [from = '', to = ''] = await by.get(pair)
          const changes = [text(pair[0], Number(from) - 1), text(pair[1], Number(to) + 1)]
          const equal = [[pair[0], from] as const, [pair[1], to] as const]
          return (await by.commit(changes, { equal })) && accounts.indexOf(pair[1]) - accounts.indexOf(pair[0])
        }
        const moves = Array.from({ length: 200 }, (_, n) => move(n % 2 === 0 ? store : other, n))
        const moved = (await Promise.all(moves)).filter((way) => way !== false)
        const amounts = (await store.get(accounts)).map(Number)
        expect(moved).to.not.have.length(0)
        expect(amounts.reduce((sum, amount) => sum + amount)).to.equal(600)
        const weighted = amounts.reduce((sum, amount, place) => sum + amount * place, 0)
        expect(weighted).to.equal(100 * 15 + moved.reduce((sum, way) => sum + way, 0))
      })

      it('wakes on the first commit of the other after the call of watch', async () => {
        let calls = 0
        const end = store.watch(['run:1'], () => calls++)
        await other.commit([text('a', 1)], {}, ['run:1'])
        await eventually(() => expect(calls).to.be.greaterThan(0))
        end()
      })

      it('reports the other as alive until it closes the store', async () => {
        expect(await store.isServerAlive(other.serverId)).to.equal(true)
        await other.close()
        expect(await store.isServerAlive(other.serverId)).to.equal(false)
        other = await reopen()
      })
    })
  })
}

function text(key: string, value: unknown): Change {
  return [key, JSON.stringify(value)]
}
