import { expect } from 'chai'
import {
  expireRequests,
  IdempotentRequests,
  requestChanges,
} from '../../../src/durable/idempotency/idempotent-requests.ts'
import { tenantPart } from '../../../src/durable/rows/tenant-part.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'

const HOUR_MS = 60 * 60 * 1000
const BODY = { model: 'talk', input: 'say a' }

describe('requests with an Idempotency-Key', () => {
  async function makeRequests() {
    const store = await KeyvStore.open(new Map())
    const requests = new IdempotentRequests(store)
    /** Answers a request: with the id of its run, and how it came to it. */
    const ask = (key: string, { hoursAgo = 0, isGone = false, runId = `resp_${key}` } = {}) =>
      requests.once(
        key,
        BODY,
        async (id) => (isGone ? undefined : `replayed ${id}`),
        async (request) => {
          await store.commit(requestChanges({ ...request, atMs: Date.now() - hoursAgo * HOUR_MS }, runId))
          return `ran ${runId}`
        },
      )
    const list = (prefix: string) => store.list({ prefix, limit: 10 })
    return { store, requests, ask, list }
  }

  it('are remembered for 24 hours', async () => {
    const { ask } = await makeRequests()
    await ask('young', { hoursAgo: 23.9 })
    await ask('old', { hoursAgo: 24.1 })
    expect(await ask('young')).to.equal('replayed resp_young')
    expect(await ask('old')).to.equal('ran resp_old')
  })

  it('are removed for every tenant', async () => {
    const { store } = await makeRequests()
    const old = { hash: 'f00', body: 'b', atMs: Date.now() - 25 * 60 * 60 * 1000 }
    for (const tenant of ['', 'acme']) {
      await tenantPart(store, tenant).commit(requestChanges(old, 'resp_1'))
      await tenantPart(store, tenant).commit(requestChanges({ ...old, hash: 'f01', atMs: Date.now() }, 'resp_2'))
    }
    await expireRequests(store)
    for (const tenant of ['', 'acme']) {
      const left = await tenantPart(store, tenant).list({ prefix: 'idempotency:', limit: 9 })
      expect(left).to.deep.equal(['idempotency:f01'])
    }
    expect(await store.list({ prefix: 'expires:', limit: 9 })).to.have.length(2)
  })

  it('are removed after that, and not before', async () => {
    const { store, ask, list } = await makeRequests()
    for (let n = 0; n < 3; n++) await ask(`young${n}`, { hoursAgo: n })
    for (let n = 0; n < 3; n++) await ask(`old${n}`, { hoursAgo: 24.1 + n })
    await expireRequests(store)
    expect([await list('idempotency:'), await list('expires:')].map(({ length }) => length)).to.deep.equal([3, 3])
    expect(await ask('young0')).to.equal('replayed resp_young0')
  })

  it('wait for the first one, and replace it if it failed to store', async () => {
    const { requests } = await makeRequests()
    let fail = (_error: Error) => {}
    const failing = new Promise<string>((_resolve, reject) => {
      fail = reject
    })
    const replay = async () => undefined
    const first = requests.once('k', BODY, replay, () => failing).catch((error: Error) => error.message)
    await new Promise((resolve) => setTimeout(resolve, 5))
    let answer: string | undefined
    const second = requests
      .once('k', BODY, replay, async () => 'ran')
      .then((text) => {
        answer = text
      })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(answer).to.equal(undefined)
    fail(new Error('no agent'))
    await second
    expect([await first, answer]).to.deep.equal(['no agent', 'ran'])
  })

  it('run again if the first one is gone or half stored', async () => {
    const { store, ask } = await makeRequests()
    await ask('gone', { runId: 'resp_1' })
    expect(await ask('gone', { isGone: true, runId: 'resp_2' })).to.equal('ran resp_2')
    expect(await ask('gone')).to.equal('replayed resp_2')
    const [expiry = ''] = await store.list({ prefix: 'expires:', limit: 1 })
    await store.commit([[expiry, undefined]])
    expect(await ask('gone', { isGone: true, runId: 'resp_3' })).to.equal('ran resp_3')
    const [row = ''] = await store.list({ prefix: 'idempotency:', limit: 1 })
    for (const [index, damaged] of ['"damaged', 'null', '7', '{}', '{"response_id":1,"body":2,"at_ms":3}'].entries()) {
      await store.commit([[row, damaged]])
      expect(await ask('gone', { runId: `resp_4${index}` })).to.equal(`ran resp_4${index}`)
    }
  })

  it('keep a newer row when an older one with the same key expires', async () => {
    const { store, ask, list } = await makeRequests()
    await ask('k', { hoursAgo: 24.1, runId: 'resp_1' })
    const old = await list('expires:')
    expect(await ask('k', { runId: 'resp_2' })).to.equal('ran resp_2')
    // As a version left it that did not remove the mark together with the row.
    await store.commit(old.map((key) => [key, '1']))
    await expireRequests(store)
    expect(await ask('k')).to.equal('replayed resp_2')
    expect(await list('expires:')).to.have.length(1)
  })
})
