import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { Approvals } from '../../../src/durable/approvals/approvals.ts'
import { ConversationStore } from '../../../src/durable/conversations/conversation-store.ts'
import { makeTurn } from '../../../src/durable/conversations/conversation-tree.ts'
import type { StepLog } from '../../../src/durable/runs/read-run.ts'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import { stepsLog } from '../../../src/durable/runs/run-keys.ts'
import { type OwnedRun, RunStore, type StoredRun } from '../../../src/durable/runs/run-store.ts'
import { StepFeed } from '../../../src/durable/runs/step-feed.ts'
import { endFailed, isEnd, type Step } from '../../../src/durable/runs/steps.ts'
import { HostError } from '../../../src/errors.ts'
import { CheckedStore } from '../../../src/store/checked-store.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'
import { appendLog } from '../../../src/store/record-log.ts'
import { eventually } from '../../support/eventually.ts'
import { makeFacts } from '../../support/run-facts.ts'

describe('StepFeed', () => {
  const ids = new RunIds('run_')
  let records: CheckedStore
  let store: RunStore
  let feed: StepFeed
  /** Numbers of ranges in the requests of the feed. */
  let requests: number[] = []
  let leaving: AbortController

  beforeEach(async () => {
    records = new CheckedStore(await KeyvStore.open(new Map()))
    requests = []
    const read = records.entriesOfEach.bind(records)
    records.entriesOfEach = (ranges) => {
      requests.push(ranges.length)
      return read(ranges)
    }
    store = new RunStore(records, new Approvals(records), new ConversationStore(records))
    feed = new StepFeed(records)
    leaving = new AbortController()
    setMaxListeners(0, leaving.signal)
  })

  afterEach(async () => {
    leaving.abort()
    await records.close()
  })

  async function begin(): Promise<OwnedRun> {
    const id = ids.next()
    const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
    const draft = { id, facts: makeFacts(), items: ['hi'], makeTurn: () => turn, earlier: [], idempotency: undefined }
    return (await store.create(draft, [])) as OwnedRun
  }

  const load = async ({ row }: OwnedRun) => (await store.get(row.id)) as StoredRun
  const follow = async (run: OwnedRun, { signal } = leaving) => feed.follow(await load(run), signal)

  async function readAll(log: StepLog): Promise<readonly Step[]> {
    const all: Step[] = []
    while (!isEnd(all.at(-1))) {
      const steps = await log.read(all.length)
      if (steps.length === 0) return all
      all.push(...steps)
    }
    return all
  }

  it('sends every step of many runs to all their followers, early or late', async () => {
    const runs = await Promise.all(Array.from({ length: 20 }, begin))
    const [end, said] = [endFailed('over'), Array.from({ length: 30 }, (_, n) => `w${n} `)]
    const followers: Promise<readonly Step[]>[] = []
    for (let n = 0; n < said.length; n++) {
      if (n % 10 === 0) for (const run of runs) followers.push(readAll(await follow(run)))
      await Promise.all(runs.map((run) => store.append(run, n, [said[n] as string])))
    }
    await Promise.all(runs.map((run) => store.finish(run, { steps: [...said, end], batches: said.length })))
    for (const steps of await Promise.all(followers)) expect(steps).to.deep.equal([...said, end])
  })

  it('reads new steps of many runs in one request, and each run once for all its followers', async () => {
    const runs = await Promise.all(Array.from({ length: 10 }, begin))
    const logs = await Promise.all([...runs, ...runs, ...runs].map((run) => follow(run)))
    await eventually(() => expect(requests.reduce((sum, ranges) => sum + ranges, 0)).to.be.at.least(10))
    requests = []
    const reading = Promise.all(logs.map((log) => log.read(0)))
    await Promise.all(runs.map((run) => store.append(run, 0, ['one '])))
    for (const steps of await reading) expect(steps).to.deep.equal(['one '])
    await wait(20)
    expect(requests.reduce((sum, ranges) => sum + ranges, 0)).to.be.within(10, 20)
    expect(requests.length).to.be.lessThan(6)
  })

  it('reads on without a notice', async () => {
    const run = await begin()
    const other = await KeyvStore.open(new Map())
    records.watch = other.watch.bind(other)
    const log = await follow(run)
    await wait(20)
    await store.append(run, 0, ['one '])
    expect(await log.read(0)).to.deep.equal(['one '])
    await other.close()
  })

  it('stops reading once all followers have left, and ends their waits', async () => {
    const run = await begin()
    const [staying, early] = [await follow(run), new AbortController()]
    const left = (await follow(run, early)).read(0)
    early.abort()
    expect(await left).to.deep.equal([])
    await store.append(run, 0, ['one '])
    expect(await staying.read(0)).to.deep.equal(['one '])
    leaving.abort()
    await wait(20)
    requests = []
    await store.append(run, 1, ['two '])
    await wait(20)
    expect(requests).to.deep.equal([])
  })

  it('ends with a run that is deleted', async () => {
    const run = await begin()
    const reading = (await follow(run)).read(0)
    await store.delete(run.row.id)
    expect(await reading).to.deep.equal([])
  })

  it('fails for a run alone that only a newer version can read', async () => {
    const [run, other] = [await begin(), await begin()]
    const [failing, reading] = [(await follow(run)).read(0), (await follow(other)).read(0)]
    await records.commit([[`response:${run.row.id}`, '{"version":99}']], {}, [`run:${run.row.id}`])
    expect(await failing.catch((error: Error) => error)).to.include({ code: 'RECORD_UNREADABLE' })
    await store.append(other, 0, ['one '])
    expect(await reading).to.deep.equal(['one '])
  })

  it('fails for a run alone whose steps are damaged', async () => {
    const other = await begin()
    const reading = (await follow(other)).read(0)
    for (const damaged of ['{"half', 'null']) {
      const run = await begin()
      const failing = (await follow(run)).read(0)
      await records.commit([appendLog(stepsLog(run.row.id), 0, damaged)], {}, [`run:${run.row.id}`])
      expect(await failing.catch((error: Error) => error)).to.include({ code: 'RECORD_UNREADABLE' })
    }
    await store.append(other, 0, ['one '])
    expect(await reading).to.deep.equal(['one '])
  })

  it('reads again after a single failure of the store, with all followers', async () => {
    const [runs, read] = [await Promise.all([begin(), begin()]), records.entriesOfEach.bind(records)]
    let failures = 0
    records.entriesOfEach = async (ranges) => {
      if (failures++ === 0) throw new HostError('STORE_UNAVAILABLE', 'It is down.')
      return read(ranges)
    }
    const reading = Promise.all((await Promise.all(runs.map((run) => follow(run)))).map((log) => log.read(0)))
    reading.catch(() => {})
    await eventually(() => expect(failures).to.equal(1))
    for (const run of runs) await store.append(run, 0, ['one '])
    expect(await reading).to.deep.equal([['one '], ['one ']])
  })

  it('fails while the store does, and reads on when asked again', async () => {
    feed = new StepFeed(records, 0)
    const [run, read] = [await begin(), records.entriesOfEach.bind(records)]
    records.entriesOfEach = async () => {
      throw new HostError('STORE_UNAVAILABLE', 'It is down.')
    }
    const log = await follow(run)
    expect(await log.read(0).catch((error: Error) => error)).to.include({ code: 'STORE_UNAVAILABLE' })
    records.entriesOfEach = read
    await store.append(run, 0, ['one '])
    expect(await log.read(0)).to.deep.equal(['one '])
  })
})
