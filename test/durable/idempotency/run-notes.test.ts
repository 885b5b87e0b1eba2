import { expect } from 'chai'
import { expireRequests, IdempotentRequests } from '../../../src/durable/idempotency/idempotent-requests.ts'
import { RunNotes } from '../../../src/durable/idempotency/run-notes.ts'
import { tenantPart } from '../../../src/durable/rows/tenant-part.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('RunNotes', () => {
  it('finds the last run of a text, for one tenant, apart from requests with an Idempotency-Key', async () => {
    const store = await KeyvStore.open(new Map())
    const [acme, globex] = ['acme', 'globex'].map((tenant) => new RunNotes(tenantPart(store, tenant)))
    await acme?.add(['a', 'b'], 'r1')
    await acme?.add(['b'], 'r2')
    expect([await acme?.find('a'), await acme?.find('b'), await acme?.find('c')]).to.deep.equal(['r1', 'r2', undefined])
    expect(await globex?.find('a')).to.equal(undefined)
    const requests = new IdempotentRequests(tenantPart(store, 'acme'))
    expect(
      await requests.once(
        'a',
        {},
        async (id) => id,
        async () => 'ran',
      ),
    ).to.equal('ran')
  })

  it('is kept for 24 hours, and leaves nothing behind', async () => {
    const store = await KeyvStore.open(new Map())
    const notes = new RunNotes(tenantPart(store, 'acme'))
    await notes.add(['a'], 'r1')
    await notes.add(['a'], 'r2')
    await expireRequests(store)
    expect(await notes.find('a')).to.equal('r2')
    await expireRequests(store, Date.now() + DAY_MS + 1)
    expect(await notes.find('a')).to.equal(undefined)
    expect(await store.list({ prefix: '', limit: 9 })).to.deep.equal([])
  })
})
