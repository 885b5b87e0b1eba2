import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue } from 'bullmq'
import { expect } from 'chai'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { makeResponses, talkState, textOf } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'
import { hasRedis, type StoreServer, startRedis } from '../support/store-servers.ts'

describeWith('Redis', hasRedis(), 'a queue of BullMQ', () => {
  let server: StoreServer
  let options: { responsesDir: string; queue: string }
  let queues = 0
  let jobs: Queue

  before(async () => {
    server = await startRedis()
  })

  beforeEach(() => {
    const prefix = `q${++queues}`
    const responsesDir = mkdtempSync(join(tmpdir(), 'agent-host-test-bull-'))
    options = { responsesDir, queue: `${server.url}?prefix=${prefix}` }
    const connection = { url: server.url, maxRetriesPerRequest: null }
    jobs = new Queue('agent-host', { connection, prefix: `{${prefix}}:bull` })
  })

  afterEach(async () => {
    await closeServers()
    await jobs.close()
  })

  after(() => server?.remove())

  it('gives each background response to one of two servers, and removes ended ones', async () => {
    const [one, other] = [await makeResponses(options), await makeResponses(options)]
    const before = talkState().runs
    const begun = await Promise.all(Array.from({ length: 40 }, () => one.create('count 2', { background: true })))
    for (const { id } of begun) expect(textOf(await other.whenEnded(id))).to.equal('w0 w1 ')
    expect(talkState().runs).to.equal(before + 40)
    await eventually(async () => {
      expect(await jobs.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed')).to.deep.equal({
        waiting: 0,
        active: 0,
        delayed: 0,
        completed: 0,
        failed: 0,
      })
    })
  })

  it('shows waiting responses, and is refilled from the store if it loses them', async () => {
    const front = await makeResponses({ ...options, noWorker: true })
    const { id } = await front.create('say a', { background: true })
    await eventually(async () => expect((await jobs.getWaiting()).map((job) => job.id)).to.deep.equal([id]))
    await jobs.obliterate({ force: true })
    await makeResponses(options)
    expect(textOf(await front.whenEnded(id))).to.equal('a ')
  })

  it('skips responses that were cancelled while they waited, and runs a job delivered twice only once', async () => {
    const front = await makeResponses({ ...options, noWorker: true })
    const before = talkState().runs
    const [cancelled, kept] = [
      await front.create('say a', { background: true }),
      await front.create('say b', { background: true }),
    ]
    await front.inject('POST', `/${cancelled.id}/cancel`)
    await makeResponses(options)
    await front.whenEnded(kept.id)
    await jobs.add('run', {}, { jobId: kept.id, removeOnComplete: true })
    await eventually(async () => expect(await jobs.count()).to.equal(0))
    expect(talkState().runs).to.equal(before + 1)
    expect((await front.get(cancelled.id)).status).to.equal('cancelled')
  })

  it('accepts responses while its Redis is down, and delivers them once it is back', async () => {
    const own = await startRedis()
    const one = await makeResponses({ ...options, queue: own.url })
    await own.kill()
    const { id, status } = await one.create('say a', { background: true })
    expect(status).to.equal('in_progress')
    await own.start()
    await eventually(async () => expect((await one.get(id)).status).to.equal('completed'), 15_000)
    await closeServers()
    await own.remove()
  })
})
