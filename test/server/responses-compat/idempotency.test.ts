import { expect } from 'chai'
import {
  type IdempotentRequest,
  IdempotentRequests,
  requestChanges,
} from '../../../src/server/adapters/responses-compat/idempotency.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'

const HOUR_MS = 60 * 60 * 1000
const BODY = { model: 'talk', input: 'say a' }

describe('requests with an Idempotency-Key', () => {
  async function makeRequests() {
    const store = await KeyvStore.open(new Map())
    const requests = new IdempotentRequests(store)
    /** Asks for the first time, that many hours ago. */
    const answered = async (key: string, hoursAgo: number) => {
      const found = await requests.find(key, BODY)
      if ('responseId' in found) throw new Error('It was asked before.')
      const request: IdempotentRequest = { ...found.request, atMs: Date.now() - hoursAgo * HOUR_MS }
      await store.commit(requestChanges(request, `resp_${key}`))
      found.release()
    }
    return { store, requests, answered }
  }

  it('are remembered for 24 hours', async () => {
    const { requests, answered } = await makeRequests()
    await answered('young', 23.9)
    await answered('old', 24.1)
    expect(await requests.find('young', BODY)).to.deep.equal({ responseId: 'resp_young' })
    expect(await requests.find('old', BODY)).to.have.property('request')
  })

  it('are removed after that, and only then', async () => {
    const { store, requests, answered } = await makeRequests()
    for (let n = 0; n < 3; n++) await answered(`young${n}`, n)
    for (let n = 0; n < 3; n++) await answered(`old${n}`, 24.1 + n)
    await requests.expire()
    const list = (prefix: string) => store.list({ prefix, limit: 10 })
    expect([await list('idempotency:'), await list('expires:')].map(({ length }) => length)).to.deep.equal([3, 3])
    expect(await requests.find('young0', BODY)).to.deep.equal({ responseId: 'resp_young0' })
  })

  it('wait for the one that was first, and take its place when it came to nothing', async () => {
    const { requests } = await makeRequests()
    const first = await requests.find('k', BODY)
    let isAnswered = false
    const second = requests.find('k', BODY).then((found) => {
      isAnswered = true
      return found
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(isAnswered).to.equal(false)
    if ('release' in first) first.release()
    expect(await second).to.have.property('request')
  })
})
