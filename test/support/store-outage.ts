import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { type Json, RESPONSES } from './responses.ts'
import type { StoreServer } from './store-servers.ts'

/**
 * Ends the server of a store for a while, and expects that meanwhile requests that need it get 503 and others do not; and then that
 * all is there and works, without a restart.
 *
 * @param url of a server with the agent `talk`, the responses adapter and the chat adapter, without a key
 */
export async function proveOutage(url: string, store: StoreServer, downMs: number): Promise<void> {
  const post = (path: string, body: object) => call(url + path, { method: 'POST', body: JSON.stringify(body) })
  const create = (body: object) => post(RESPONSES, { model: 'talk', ...body })
  const get = (path: string) => call(url + path)
  const { json: kept } = await create({ input: 'say kept' })
  const { json: cut } = await create({ input: 'hang', background: true })
  await eventually(async () => expect((await get(`${RESPONSES}/${cut.id}`)).json.output).to.have.length(1))
  await store.kill()
  const statuses = new Set<number>()
  for (const downSinceMs = Date.now(); Date.now() - downSinceMs < downMs; await wait(200)) {
    const [made, read, ready] = await Promise.all([
      create({ input: 'say x' }),
      get(`${RESPONSES}/${kept.id}`),
      get('/readyz'),
    ])
    for (const { status } of [made, read, ready]) statuses.add(status)
    expect((await get('/healthz')).status).to.equal(200)
    const chat = { model: 'talk', messages: [{ role: 'user', content: 'say a' }] }
    expect((await post('/compat/chat/completions', chat)).status).to.equal(200)
  }
  expect([...statuses]).to.deep.equal([503])
  await store.start()
  await eventually(async () => expect((await get('/readyz')).status).to.equal(200), 15_000)
  expect((await get(`${RESPONSES}/${kept.id}`)).json).to.deep.equal(kept)
  const { json: later } = await create({ input: 'count 3', background: true })
  await eventually(
    async () => expect((await get(`${RESPONSES}/${later.id}`)).json.status).to.equal('completed'),
    15_000,
  )
  await post(`${RESPONSES}/${cut.id}/cancel`, {})
  expect((await get(`${RESPONSES}/${cut.id}`)).json.status).to.equal('cancelled')
}

async function call(url: string, init: RequestInit = {}): Promise<{ status: number; json: Json }> {
  const reply = await fetch(url, { headers: { 'content-type': 'application/json' }, ...init })
  return { status: reply.status, json: await reply.json() }
}
