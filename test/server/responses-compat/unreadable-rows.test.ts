import { expect } from 'chai'
import Database from 'libsql'
import { openStore } from '../../../src/store/open-store.ts'
import { type Json, makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'

const KEY = 'key-1234'
const AUTHORIZED = { authorization: `Bearer ${KEY}` }
/** Half of a row, rows of another shape, and one of a newer version. */
const UNREADABLE = ['{"half', 'null', '[]', '{}', '{"version":2,"steps":{},"pending":[]}', '{"version":99}']

describe('a row that cannot be read', () => {
  afterEach(closeServers)

  /** A server, and a way to overwrite its rows. */
  async function open() {
    const files = { ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }') }
    const { app, project } = await makeResponses({ responsesApiKey: KEY }, files)
    const warnings: string[] = []
    // The log of the project is the one that Fastify's derives from.
    Object.assign(Object.getPrototypeOf(app.log), { warn: (message: string) => void warnings.push(message) })
    const store = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    const request = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
      const reply = await app.inject({
        method,
        url: `/compat${path}`,
        headers: AUTHORIZED,
        ...(payload ? { payload } : {}),
      })
      return { status: reply.statusCode, body: reply.json() as Json }
    }
    const create = async (model: string, input: unknown = 'say a', more = {}) =>
      (await request('POST', '/responses', { model, input, ...more })).body as Json
    const ids = async (path: string) => (await request('GET', path)).body.data?.map(({ id }: Json) => id)
    return { request, create, ids, store, warnings, file: project.path('responses/responses.db') }
  }

  it('takes no other approval out of the inbox, and does not keep its response from being deleted', async () => {
    const { request, create, ids, store, warnings } = await open()
    const waiting = [await create('shop'), await create('shop')]
    const [damaged, whole] = (await ids('/approvals?order=asc')) as [string, string]
    for (const row of UNREADABLE) {
      await store.commit([[`approval:${damaged}`, row]])
      for (const query of ['', '?status=all', '']) expect(await ids(`/approvals${query}`)).to.deep.equal([whole])
      expect((await request('GET', `/approvals/${damaged}`)).status).to.equal(503)
    }
    const [damagedLine, newerLine] = ['is damaged.', 'was written by a newer version of agent-host.']
    expect(warnings).to.deep.equal(
      [damagedLine, newerLine].map((line) => `Left out a record: The stored response '${damaged}' ${line}`),
    )
    expect((await request('DELETE', `/responses/${waiting[0].id}`)).status).to.equal(200)
    expect(await store.list({ prefix: `approval:${damaged}`, limit: 10 })).to.deep.equal([])
    expect(await ids('/approvals?status=all')).to.deep.equal([whole])
    await store.close()
  })

  it('takes no other response out of the list', async () => {
    const { request, create, ids, store, warnings } = await open()
    const [damaged, whole] = [await create('talk'), await create('talk')]
    for (const row of UNREADABLE) {
      await store.commit([[`response:${damaged.id}`, row]])
      expect(await ids('/responses')).to.deep.equal([whole.id])
      expect((await request('GET', `/responses/${damaged.id}`)).status).to.equal(503)
    }
    expect(warnings).to.have.length(2)
    await store.close()
  })

  it('ends no list that is read page by page', async () => {
    const { request, create, store } = await open()
    const walk = async (path: string) => {
      const shown: string[] = []
      for (let after = ''; ; ) {
        const { data, last_id, has_more } = (await request('GET', `${path}${after}`)).body
        shown.push(...data.map(({ id }: Json) => id))
        if (data.length === 0 || !has_more) return shown
        after = `&after=${last_id}`
      }
    }
    const responses: string[] = []
    for (let n = 0; n < 7; n++) responses.push((await create('shop')).id)
    const approvals = responses.map((id) => `mcpr_${id.slice(5)}-000`)
    // The first, two in the middle, the last.
    const damaged = [0, 2, 3, 6]
    const isWhole = (_: string, index: number) => !damaged.includes(index)
    await store.commit(damaged.map((n) => [`response:${responses[n]}`, '{"half'] as const))
    await store.commit(damaged.map((n) => [`approval:${approvals[n]}`, '{"half'] as const))
    for (const [path, all] of [
      ['/responses?', responses],
      ['/approvals?', approvals],
      ['/approvals?status=all&', approvals],
    ] as const) {
      for (const limit of [1, 2, 20]) {
        const found = [await walk(`${path}order=asc&limit=${limit}`), await walk(`${path}order=desc&limit=${limit}`)]
        const whole = all.filter(isWhole)
        expect(found, `${path}limit=${limit}`).to.deep.equal([whole, whole.toReversed()])
      }
    }
    await store.close()
  })

  it('takes no others out of the lists when the text that the store has around it is damaged', async () => {
    const { request, create, ids, store, file } = await open()
    const [damaged, whole] = [await create('shop'), await create('shop')]
    const { id: conversation } = (await request('POST', '/conversations', {})).body
    const approval = `mcpr_${damaged.id.slice(5)}-000`
    await store.close()
    const database = new Database(file)
    const damage = database.prepare("UPDATE keyv SET value = '{broken' WHERE key = ?")
    const rows = [`response:${damaged.id}`, `approval:${approval}`, `conversation:${conversation}`]
    for (const row of rows) expect(damage.run(`keyv:${row}`).changes).to.equal(1)
    database.close()
    expect(await ids('/responses')).to.deep.equal([whole.id])
    expect(await ids('/approvals')).to.deep.equal([`mcpr_${whole.id.slice(5)}-000`])
    const shown = await request('GET', `/responses/${damaged.id}`)
    expect([shown.status, shown.body.detail]).to.deep.equal([503, `The stored response '${damaged.id}' is damaged.`])
    for (const path of [`/responses/${damaged.id}`, `/conversations/${conversation}`]) {
      expect((await request('DELETE', path)).status).to.equal(200)
      expect((await request('GET', path)).status).to.equal(404)
    }
  })

  it('of a conversation does not keep that from being deleted', async () => {
    const { request, store } = await open()
    for (const row of UNREADABLE) {
      const { id } = (await request('POST', '/conversations', {})).body
      await store.commit([[`conversation:${id}`, row]])
      expect((await request('DELETE', `/conversations/${id}`)).status).to.equal(200)
      expect((await request('DELETE', `/conversations/${id}`)).status).to.equal(404)
    }
    await store.close()
  })

  it('does not keep its own response from being deleted, with all its records', async () => {
    const { request, create, store } = await open()
    const input = Array.from({ length: 60 }, (_, n) => ({ role: 'user', content: `say ${n}` }))
    for (const row of UNREADABLE) {
      const runs = [await create('talk', input), await create('shop')]
      await store.commit(runs.map(({ id }) => [`response:${id}`, row] as const))
      for (const { id } of runs) {
        expect((await request('DELETE', `/responses/${id}`)).status).to.equal(200)
        expect((await request('DELETE', `/responses/${id}`)).status).to.equal(404)
      }
      expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal(['~format'])
    }
    await store.close()
  })

  it('does not keep a response of its conversation, or of its turn, from being deleted', async () => {
    const { request, create, store } = await open()
    for (const row of UNREADABLE) {
      const { id: conversation } = (await request('POST', '/conversations', {})).body
      const [first, second] = [await create('talk', 'say a', { conversation }), await create('talk')]
      await store.commit([
        [`conversation:${conversation}`, row],
        [`turn:${second.id}`, row],
      ])
      for (const { id } of [first, second]) {
        expect((await request('DELETE', `/responses/${id}`)).status).to.equal(200)
        expect((await request('GET', `/responses/${id}`)).status).to.equal(404)
      }
      expect(await store.list({ prefix: `turn:${second.id}`, limit: 10 })).to.deep.equal([])
    }
    await store.close()
  })
})
