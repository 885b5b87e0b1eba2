import { expect } from 'chai'
import { silentLog } from '../../src/protocols/log.ts'
import { forgetOldServers } from '../../src/replicas/forget-old-servers.ts'
import { introduction, readEntry, readReplicas, runLog } from '../../src/replicas/replica-rows.ts'
import { RunFeed } from '../../src/replicas/run-feed.ts'
import { RunPublisher } from '../../src/replicas/run-publisher.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import type { RunRecord } from '../../src/trace/run-index/run-summary.ts'

const MAX_ENTRIES = 10_000

describe('RunPublisher', () => {
  const recordOf = (run_id: string) => ({ summary: { run_id } }) as RunRecord
  const readRecords = async (ids: readonly string[]) => ids.map(recordOf)
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
