import { expect } from 'chai'
import { silentLog } from '../../src/protocols/log.ts'
import { forgetOldServers } from '../../src/replicas/forget-old-servers.ts'
import { forgetRuns } from '../../src/replicas/forget-runs.ts'
import { introduction, readEntry, readReplicas, runLog } from '../../src/replicas/replica-rows.ts'
import { RunFeed } from '../../src/replicas/run-feed.ts'
import { RunPublisher } from '../../src/replicas/run-publisher.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import type { RunRecord } from '../../src/trace/run-index/run-summary.ts'

const MAX_ENTRIES = 10_000

describe('RunPublisher', () => {
  const recordOf = (run_id: string, facts: Partial<RunRecord['summary']> = {}) =>
    ({ summary: { run_id, ...facts } }) as RunRecord
  const readRecords = async (ids: readonly string[]) => ids.map((id) => recordOf(id))
  let store: KeyvStore

  beforeEach(async () => {
    store = await KeyvStore.open(new Map())
  })

  afterEach(() => store.close())

  async function publish(from: number, to: number, publisher: RunPublisher): Promise<void> {
    for (let n = from; n < to; n++) publisher.note(`run-${n}`)
    await publisher.close()
  }

  it('keeps the latest 10,000 entries of a server, and readers of earlier ones continue', async () => {
    const publisher = new RunPublisher('web-1', readRecords, async () => store, silentLog)
    const read: string[] = []
    const feed = new RunFeed(asOther(store))
    const readOn = () =>
      feed.readOn({
        put: (records) => read.push(...records.map(({ summary }) => summary.run_id)),
        interrupt() {},
        skip() {},
      })
    await publish(0, 300, publisher)
    await readOn()
    await publish(300, 9_900, publisher)
    await publish(9_900, MAX_ENTRIES + 150, publisher)
    const entries = await store.entries({ prefix: `${runLog(store.serverId)}:`, limit: 2 * MAX_ENTRIES })
    const ids = entries.map(([, text]) => readEntry(text)?.record.summary.run_id)
    expect([ids.length, ids[0], ids.at(-1)]).to.deep.equal([MAX_ENTRIES, 'run-150', `run-${MAX_ENTRIES + 149}`])
    await readOn()
    expect(read).to.deep.equal(Array.from({ length: MAX_ENTRIES + 150 }, (_, n) => `run-${n}`))
  })

  const publishedIds = async () => {
    const entries = await store.entries({ prefix: `${runLog(store.serverId)}:`, limit: 100 })
    return entries
      .map(([, text]) => readEntry(text)?.record.summary)
      .map((summary) => [summary?.run_id, summary?.status])
  }

  it('waits for the index to have a run, and its end, also when the server stops', async () => {
    const looks = new Map<string, number>()
    const read = async (ids: readonly string[]) =>
      ids.flatMap((id) => {
        const look = (looks.get(id) ?? 0) + 1
        looks.set(id, look)
        return look < 2 || id === 'lost' ? [] : [recordOf(id, { status: look < 3 ? 'running' : 'completed' })]
      })
    const publisher = new RunPublisher('web-1', read, async () => store, silentLog)
    for (const id of ['begun', 'lost']) publisher.note(id)
    for (const id of ['ended', 'lost']) publisher.note(id, true)
    await publisher.close()
    expect(await publishedIds()).to.deep.equal([
      ['begun', 'running'],
      ['ended', 'completed'],
    ])
  })

  it('of a forgotten user are deleted with those that replay them, and those without their beginning', async () => {
    const runs = [
      recordOf('own', { user: 'ada' }),
      recordOf('replay', { user: null, replays: 'own' }),
      recordOf('unknown', { user: '' }),
      recordOf('other', { user: 'bob' }),
      recordOf('of another tenant', { user: '', tenant: 'acme' }),
    ]
    const read = async (ids: readonly string[]) => runs.filter(({ summary }) => ids.includes(summary.run_id))
    const publisher = new RunPublisher('web-1', read, async () => store, silentLog)
    for (const { summary } of runs) publisher.note(summary.run_id)
    await publisher.close()
    await forgetRuns(store, { tenant: '', user: 'ada', runIds: [] })
    expect((await publishedIds()).map(([id]) => id)).to.deep.equal(['other', 'of another tenant'])
  })

  it('shows the runs of a server that was paused, and forgotten, as soon as it goes on', async () => {
    const publisher = new RunPublisher('web-1', readRecords, async () => store, silentLog)
    await store.commit([introduction(store.serverId, 'web-1')])
    await forgetOldServers(asOther(store, false), Date.now())
    expect(await readReplicas(store)).to.deep.equal([])
    await publish(0, 1, publisher)
    expect(await readReplicas(store)).to.deep.equal([{ id: store.serverId, name: 'web-1' }])
  })
})

/** The store as another server has it, which takes the first for alive, or gone. */
function asOther(store: KeyvStore, isAlive = true): KeyvStore {
  const own: Record<string | symbol, unknown> = { serverId: 'other', isServerAlive: async () => isAlive }
  return new Proxy(store, {
    get(target, name) {
      const value = own[name] ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
