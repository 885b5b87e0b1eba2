import { expect } from 'chai'
import { HostError, LimitReached } from '../../src/errors.ts'
import { Account, type AccountSources, keyOf } from '../../src/limits/account.ts'
import { StoreClock } from '../../src/limits/store-clock.ts'
import type { Limits } from '../../src/run/state/run-quota.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const MINUTE_MS = 60_000
/** 12:00:30 of a day. */
const NOON_MS = Date.UTC(2027, 0, 31, 12, 0, 30)

describe('the counts of a limit', () => {
  const open: RecordStore[] = []
  afterEach(async () => {
    for (const records of open.splice(0)) await records.close()
  })

  async function makeCounts() {
    const { dir } = await makeProject({})
    let nowMs = NOON_MS
    let isDown = false
    const alive = new Set<string>()
    const clock = { jumps: 0, now: async () => nowMs } as StoreClock
    const openRuns = new Set<string>()
    /** A server of the store. */
    const serve = async (limits: Limits, name = 'ada') => {
      const store = await openStore({ store: 'sqlite', dir, projectDir: dir })
      open.push(store)
      alive.add(store.serverId)
      const records = Object.create(store, {
        serverId: { value: store.serverId },
        get: { value: (keys: string[]) => store.get(keys) },
        commit: {
          value: (...args: Parameters<RecordStore['commit']>) => {
            if (isDown) throw new HostError('STORE_UNAVAILABLE', 'down')
            return store.commit(...args)
          },
        },
        isServerAlive: { value: async (id: string) => alive.has(id) },
      }) as RecordStore
      const sources: AccountSources = { records, clock, isOpen: async (id) => openRuns.has(id) }
      const account = new Account({ tenant: 'acme', key: name, limits }, sources)
      const admit = async () =>
        account.admit().then(
          () => 'admitted',
          (error: HostError) =>
            error instanceof LimitReached ? `${error.limited} ${error.retryAfterSeconds}` : error.code,
        )
      return { account, admit, id: store.serverId, store }
    }
    return {
      serve,
      openRuns,
      die: (id: string) => alive.delete(id),
      setDown: (value: boolean) => {
        isDown = value
      },
      move: (ms: number, jumps = 0) => {
        nowMs += ms
        clock.jumps += jumps
      },
    }
  }

  it('begin anew with the minute, and the day in UTC', async () => {
    const { serve, move } = await makeCounts()
    const { account, admit } = await serve({ requests_per_minute: 2, tokens_per_day: 10 })
    expect([await admit(), await admit(), await admit()]).to.deep.equal([
      'admitted',
      'admitted',
      'requests_per_minute 30',
    ])
    move(29_000)
    expect(await admit()).to.equal('requests_per_minute 1')
    move(1000)
    expect(await admit()).to.equal('admitted')
    await account.spend(10, 0)
    expect(await admit()).to.equal(`tokens_per_day ${12 * 3600 - 60}`)
    move(24 * 3600 * 1000)
    expect(await admit()).to.equal('admitted')
  })

  it('grow with no clock that jumps, forth or back, by little or much', async () => {
    for (const jumpMs of [MINUTE_MS, 3_600_000, 90 * 86_400_000, -10_000, -40_000, -3_600_000, -90 * 86_400_000]) {
      const { serve, move } = await makeCounts()
      const { account, admit } = await serve({ requests_per_minute: 2, tokens_per_day: 10 })
      const other = await serve({ requests_per_minute: 2, tokens_per_day: 10 })
      expect([await admit(), await other.admit()]).to.deep.equal(['admitted', 'admitted'])
      move(jumpMs, 1)
      expect((await admit()).split(' ')[0], `${jumpMs}`).to.equal('requests_per_minute')
      expect((await other.admit()).split(' ')[0], `${jumpMs}`).to.equal('requests_per_minute')
      // The next minute is one again.
      move(2 * MINUTE_MS)
      expect(await other.admit(), `${jumpMs}`).to.equal('admitted')
      await account.spend(10, 0)
      move(jumpMs, 1)
      move(2 * MINUTE_MS)
      expect((await admit()).split(' ')[0], `${jumpMs}`).to.equal('tokens_per_day')
    }
  })

  it('are not given back into another minute', async () => {
    const { serve, move } = await makeCounts()
    const { account, admit } = await serve({ requests_per_minute: 2 })
    const minute = await account.admit()
    account.giveBack(minute)
    await eventually(async () => expect([await admit(), await admit()]).to.deep.equal(['admitted', 'admitted']))
    move(MINUTE_MS)
    expect([await admit(), await admit()]).to.deep.equal(['admitted', 'admitted'])
    account.giveBack(minute)
    await account.spend(0, 0)
    expect(await admit()).to.equal('requests_per_minute 30')
  })

  it('free the runs of a server that has died, and no others', async () => {
    const { serve, die } = await makeCounts()
    const [one, two] = [await serve({ concurrent_runs: 3 }), await serve({ concurrent_runs: 3 })]
    expect([await one.admit(), await one.admit(), await two.admit(), await two.admit()]).to.deep.equal([
      'admitted',
      'admitted',
      'admitted',
      'concurrent_runs 1',
    ])
    die(one.id)
    expect([await two.admit(), await two.admit(), await two.admit()]).to.deep.equal([
      'admitted',
      'admitted',
      'concurrent_runs 1',
    ])
    two.account.end(0)
    await eventually(async () => expect(await two.admit()).to.equal('admitted'))
  })

  it('hold the place of a run in the background wherever it runs, until it has ended', async () => {
    const { serve, die, openRuns, move } = await makeCounts()
    const [one, two] = [await serve({ concurrent_runs: 1 }), await serve({ concurrent_runs: 1 })]
    await one.account.admit()
    await one.account.accept('resp_1')
    openRuns.add('resp_1')
    die(one.id)
    move(2 * MINUTE_MS)
    expect(await two.admit()).to.equal('concurrent_runs 1')
    two.account.endAccepted('resp_1', 0)
    await eventually(async () => expect(await two.admit()).to.equal('admitted'))
    await two.account.accept('resp_2')
    // It has ended without a word: its server was killed.
    expect(await two.admit()).to.equal('concurrent_runs 1')
    move(2 * MINUTE_MS)
    expect(await two.admit()).to.equal('admitted')
  })

  it('admit nothing while they cannot be stored, and make up for what has ended then', async () => {
    const { serve, setDown } = await makeCounts()
    const { account, admit } = await serve({ concurrent_runs: 1 })
    expect(await admit()).to.equal('admitted')
    setDown(true)
    expect(await admit()).to.equal('concurrent_runs 1')
    account.end(0)
    expect(await admit()).to.equal('STORE_UNAVAILABLE')
    setDown(false)
    expect(await admit()).to.equal('admitted')
  })

  it('that are damaged refuse', async () => {
    const { serve } = await makeCounts()
    const { admit, store } = await serve({ requests_per_minute: 1 })
    const whole = { minute: 0, requests: 0, day: 0, tokens: 0, cost: 0, servers: {}, background: {} }
    for (const damaged of ['x', { ...whole, requests: undefined }, { ...whole, servers: { one: '1' } }]) {
      await store.commit([[keyOf({ tenant: 'acme', key: 'ada' }), JSON.stringify(damaged)]])
      expect(await admit()).to.equal('RECORD_UNREADABLE')
    }
  })

  it('of names that begin alike, and of a tenant and its key, are others', async () => {
    const { serve } = await makeCounts()
    const [one, two] = [
      await serve({ requests_per_minute: 1 }, 'ada'),
      await serve({ requests_per_minute: 1 }, 'ada.b'),
    ]
    expect([await two.admit(), await one.admit(), await one.admit()]).to.deep.equal([
      'admitted',
      'admitted',
      'requests_per_minute 30',
    ])
    expect(keyOf({ tenant: 'a', key: 'b' })).to.not.equal(keyOf({ tenant: 'a/b' }))
  })
})

describe('the clock of a store', () => {
  it('is followed without its jumps, which are counted', async () => {
    let storeMs = NOON_MS
    const clock = new StoreClock({ now: async () => storeMs })
    expect(await clock.now()).to.be.within(NOON_MS, NOON_MS + 1000)
    storeMs += 3_600_000
    // No look at it: the clock of the process goes on.
    expect(await clock.now()).to.be.within(NOON_MS, NOON_MS + 1000)
    expect(clock.jumps).to.equal(0)
  })
})
