import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { SHOP_FILES } from '../../support/shop.ts'
import { keysFile } from '../../support/tenant-visitor.ts'

const ADAPTER = `export class SlackAdapter {
  checksItself = true
  constructor(options) { this.options = options }
  adapt(app) {
    const { http, runs, tenantOf, host } = this.options
    const runsOf = (request) => runs.of(tenantOf(request))
    app.addHook('onRequest', async (request) => {
      const { 'x-signature': signature, 'x-scopes': scopes = 'approve' } = request.headers
      if (signature === 'good') http.identify(request, { name: 'slack.ann', tenant: 'acme', scopes: scopes.split(',') })
    })
    app.post('/slack/run', async (request) => {
      const messages = [{ role: 'user', content: 'please' }]
      const tenant = 'acme'
      const result = await host.run('shop', messages, { tenant })
      return (await runs.of(tenant).keep({ agent: 'shop', messages, result }))[0]
    })
    app.post('/slack/decide', async (request) => {
      const { by, requireMayDecide, requireMaySupersede } = http.deciderOf(request)
      if (request.body.supersede) { requireMaySupersede(); return { by } }
      requireMayDecide()
      await runsOf(request).answer(new Map([[request.body.id, { kind: 'approval', decision: 'approve' }]]), by)
      return { by, tenant: tenantOf(request) }
    })
    app.post('/slack/identify', async (request) => http.identify(request, request.body) ?? {})
  }
}`
const KEYS = keysFile([
  { name: 'ann', tenant: 'acme', scopes: ['run', 'approve'] },
  { name: 'ci', scopes: ['run'] },
])

describe('an adapter that checks its requests itself', () => {
  afterEach(closeServers)

  async function open(options: object = { keys: 'keys.yml' }, adapter = ADAPTER) {
    const files = { ...SHOP_FILES, 'keys.yml': KEYS, 'slack.ts': adapter }
    const server = await makeServer({ adapters: ['slack.SlackAdapter'], ...options }, files)
    const post = async (url: string, payload: object = {}, headers: Record<string, string> = {}) => {
      const { statusCode, body } = await server.app.inject({ method: 'POST', url, payload, headers })
      return { status: statusCode, json: JSON.parse(body) }
    }
    const paid = () => readFile(`${server.project.dir}/paid.txt`, 'utf8').catch(() => '')
    const { json } = await post('/slack/run')
    return { post, paid, id: json.id as string }
  }

  it('has visitors without any scope where keys name scopes, until it has named the sender', async () => {
    const { post, paid, id } = await open()
    expect(await post('/slack/decide', { id })).to.deep.include({ status: 403 })
    expect(await post('/slack/decide', { id }, { 'x-signature': 'forged' })).to.deep.include({ status: 403 })
    const runOnly = await post('/slack/decide', { id }, { 'x-signature': 'good', 'x-scopes': 'run' })
    expect(runOnly).to.deep.equal({ status: 403, json: { detail: "The key 'slack.ann' lacks the scope 'approve'" } })
    expect(await paid()).to.equal('')
    const decided = await post('/slack/decide', { id }, { 'x-signature': 'good' })
    expect(decided).to.deep.equal({ status: 200, json: { by: 'slack.ann', tenant: 'acme' } })
    await eventually(async () => expect(await paid()).to.equal('pay 40\n'))
  })

  it('goes by the origins of the server', async () => {
    const origin = 'https://crm.example.com'
    const { post } = await open({ keys: 'keys.yml', trustedOrigins: [origin] })
    expect(await post('/slack/decide', { supersede: true }, { origin })).to.deep.include({ status: 200 })
    const other = await post('/slack/decide', { supersede: true }, { origin: 'https://other.example.com' })
    expect(other).to.deep.include({ status: 403 })
  })

  it('lets anyone decide where no key names scopes', async () => {
    const { post, id } = await open({}, ADAPTER.replaceAll("'acme'", "''"))
    expect(await post('/slack/decide', { id })).to.deep.include({ status: 200 })
  })

  it('needs a key as long as it does not say so', async () => {
    const { post } = await open({ keys: 'keys.yml' }, ADAPTER.replace('checksItself = true', 'isOpen = false'))
    expect(await post('/slack/run')).to.deep.include({ status: 401 })
  })

  it('names senders in the words of the file of keys', async () => {
    const { post } = await open()
    const problemOf = async (sender: object) => (await post('/slack/identify', sender)).json.detail
    expect(await problemOf({ name: 'ann', scopes: ['run'] })).to.equal(undefined)
    expect(await problemOf({ name: 5, scopes: [] })).to.match(/^sender: name must be a string/)
    expect(await problemOf({ name: '', scopes: [] })).to.match(/^sender: name must match/)
    expect(await problemOf({ name: 'ann' })).to.match(/^sender: scopes is missing/)
    expect(await problemOf({ name: 'ann', scopes: ['all'] })).to.match(/^sender: scopes\[0\] must be one of/)
    expect(await problemOf({ name: 'ann', tenant: null, scopes: [] })).to.match(/^sender: tenant must be a string/)
  })
})
