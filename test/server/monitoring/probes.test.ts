import { createServer } from 'node:http'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { makeResponses } from '../../support/responses.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { hasPostgres, startPostgres } from '../../support/store-servers.ts'

describe('the probes', () => {
  afterEach(closeServers)

  it('need no key, and answer under any host name', async () => {
    const { app } = await makeServer({ compatApiKey: 'key-1' })
    for (const url of ['/healthz', '/readyz']) {
      const reply = await app.inject({ url, headers: { host: 'node-7.cluster.local' } })
      expect([reply.statusCode, reply.json()]).to.deep.equal([200, { status: 'ok' }])
    }
    expect((await app.inject({ url: '/compat/models', headers: { host: 'elsewhere.test' } })).statusCode).to.equal(403)
    expect((await app.inject({ method: 'POST', url: '/healthz' })).statusCode).to.equal(404)
  })

  it('name what agents miss: a document and a server that are away; the server is ready', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const agent = (id: string, module: string, config: object) => `id: ${id}
modules:
  - { id: llm, module: llm/mock, config: { replies: [hi] } }
  - { id: away, module: ${module}, config: ${JSON.stringify(config)} }
  - { id: orchestrator, module: orchestrator/tool-loop }
`
    const { app, host } = await makeServer(
      {},
      {
        'agents/shop.yml': agent('shop', 'tools/openapi', { document: `${url}/openapi.json`, base_url: url }),
        'agents/desk.yml': agent('desk', 'tools/mcp', { servers: [{ name: 'issues', url: `${url}/mcp` }] }),
      },
    )
    const ready = async () => (await app.inject('/readyz')).json()
    expect(await ready()).to.deep.equal({
      status: 'ok',
      missing: ["desk/away: MCP 'issues'", 'shop/away: OpenAPI document'],
    })
    expect((await host.run('shop', 'hello')).text).to.equal('hi')
    expect((await app.inject('/healthz')).json()).to.deep.equal({ status: 'ok' })
    host.unregister('desk')
    await eventually(async () => expect((await ready()).missing).to.deep.equal(['shop/away: OpenAPI document']), 5000)
    const paths = { '/a': { get: { responses: { 200: { description: 'ok' } } } } }
    const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths }
    const server = createServer((_request, reply) => reply.end(JSON.stringify(openapi))).listen(port, '127.0.0.1')
    try {
      await eventually(async () => expect(await ready()).to.deep.equal({ status: 'ok' }), 10_000)
    } finally {
      server.close()
    }
  }).timeout(20_000)

  it('a server that is shutting down is live, but not ready', async () => {
    const { listen, close, host } = await makeServer({ drainTimeout: 5 })
    const url = await listen()
    const running = fetch(`${url}/compat/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat('probe', 'wait 1500')),
    })
    await eventually(() => expect(host.runningCount).to.equal(1))
    const closed = close()
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).to.equal(503))
    expect((await fetch(`${url}/healthz`)).status).to.equal(200)
    expect((await running).status).to.equal(200)
    await closed
  })

  it('a server whose store is down is live, and ready again with the store', async function () {
    if (!hasPostgres()) this.skip()
    const store = await startPostgres()
    try {
      const { app } = await makeResponses({ store: store.url })
      expect((await app.inject('/readyz')).statusCode).to.equal(200)
      await store.kill()
      const reply = await app.inject('/readyz')
      expect([reply.statusCode, reply.json()]).to.deep.equal([
        503,
        { status: 'unavailable', detail: 'ResponsesCompatApiAdapter: STORE_UNAVAILABLE' },
      ])
      expect((await app.inject('/healthz')).statusCode).to.equal(200)
      await store.start()
      await eventually(async () => expect((await app.inject('/readyz')).statusCode).to.equal(200), 10_000)
    } finally {
      await closeServers()
      await store.remove()
    }
  })
})
