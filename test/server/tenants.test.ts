import { expect } from 'chai'
import { closeServers, makeServer } from '../support/server.ts'
import { keysFile, Visitor } from '../support/tenant-visitor.ts'
import { TENANT_KEYS, TENANT_OPTIONS, TENANT_PROJECT, walkAsTenants } from '../support/tenant-walk.ts'

describe('tenants of one server', () => {
  afterEach(closeServers)

  // On every store: test/prove/tenants.prove.ts.
  it('never meet, by any operation of the document', async () => {
    const files = { ...TENANT_PROJECT, 'keys.yml': TENANT_KEYS }
    const { listen } = await makeServer(TENANT_OPTIONS, files)
    await walkAsTenants(await listen(), 1)
    // Hundreds of requests, one after the other.
  }).timeout(240_000)
})

describe('the page of a tenant', () => {
  afterEach(closeServers)

  it('stops, reads and removes nothing of another tenant', async () => {
    const files = { ...TENANT_PROJECT, 'keys.yml': TENANT_KEYS }
    const { listen, host } = await makeServer({ ...TENANT_OPTIONS, development: true }, files)
    const url = await listen()
    const [acme, globex] = [new Visitor(url, 'acme', 'acme'), new Visitor(url, 'globex', 'globex')]
    const act = async (visitor: Visitor, mutation: string) => {
      const headers = { origin: url }
      return (await visitor.ask('POST', '/api/ui/graphql', { query: `mutation { ${mutation} }` }, headers)).json
    }
    for (const visitor of [acme, globex]) {
      await visitor.ask('POST', '/v1/responses', { model: 'teller', input: visitor.secret })
    }
    const memory = await act(acme, 'read_memory(agent_id: "teller", module_id: "memory")')
    expect(memory.data.read_memory.map(({ text }: { text: string }) => text)).to.deep.equal([acme.secret])
    expect((await act(acme, 'clear_log(agent_id: "teller")')).data).to.deep.equal({ clear_log: true })
    const total = async (visitor: Visitor) =>
      (await visitor.graphql('{ runs(filter: { agent_id: "teller" }) { total } }')).data.runs.total
    expect([await total(acme), await total(globex)]).to.deep.equal([0, 1])
    const running = host.start('probe', { messages: [{ role: 'user', content: 'wait 1500' }], tenant: 'globex' })
    const stopped = await act(acme, `stop_run(run_id: "${running.id}")`)
    expect(stopped.data).to.deep.equal({ stop_run: false })
    expect((await running.result).status).to.equal('completed')
  })
})

describe('an adapter of a project', () => {
  afterEach(closeServers)

  it('knows the tenant of a request', async () => {
    const files = {
      'plain.ts': `export class PlainAdapter {
  constructor(options) { this.options = options }
  adapt(app) {
    const { host, tenantOf } = this.options
    app.post('/plain', async (request) => (await host.run('teller', 'hi', { tenant: tenantOf(request) })).text)
  } }`,
    }
    const options = { ...TENANT_OPTIONS, adapters: ['./plain.ts#PlainAdapter'] }
    const { listen } = await makeServer(options, { ...TENANT_PROJECT, ...files, 'keys.yml': TENANT_KEYS })
    const url = await listen()
    const answers = await Promise.all(
      [new Visitor(url, 'acme', 'acme'), new Visitor(url, '', 'nobody')].map((visitor) =>
        visitor.ask('POST', '/plain'),
      ),
    )
    expect(answers.map(({ body }) => body)).to.deep.equal(['hi sees  as acme', 'hi sees  as '])
  })
})

describe('keys of one tenant', () => {
  afterEach(closeServers)

  it('share what it stores: who may approve decides what another asked; each has its own idempotency keys', async () => {
    const keys = keysFile([
      { name: 'alice', tenant: 'acme', scopes: ['run', 'approve'] },
      { name: 'ci', tenant: 'acme', scopes: ['run'] },
    ])
    const { listen } = await makeServer(TENANT_OPTIONS, { ...TENANT_PROJECT, 'keys.yml': keys })
    const url = await listen()
    const [alice, ci] = [new Visitor(url, 'acme', 'alice'), new Visitor(url, 'acme', 'ci')]
    const asked = await ci.ask('POST', '/v1/responses', { model: 'shop', input: 'pay' })
    const { id } = asked.json.output[0]
    expect((await ci.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })).status).to.equal(403)
    const decided = await alice.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })
    expect([decided.status, decided.json.status, decided.json.decided_by]).to.deep.equal([200, 'approved', 'alice'])
    const create = (visitor: Visitor) =>
      visitor.ask('POST', '/v1/responses', { model: 'teller', input: 'hi' }, { 'idempotency-key': 'k' })
    const [first, other, again] = [await create(ci), await create(alice), await create(ci)]
    expect(again.json.id).to.equal(first.json.id)
    expect(other.json.id).to.not.equal(first.json.id)
    expect((await alice.ask('GET', `/v1/responses/${first.json.id}`)).status).to.equal(200)
  })
})
