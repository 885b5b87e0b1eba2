import { hash } from 'node:crypto'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { closeServers, makeServer } from '../../support/server.ts'

const digestOf = (key: string) => `sha256:${hash('sha256', key)}`
const KEYS = `keys:
  - { name: ops, digest: "${digestOf('of-ops')}", scopes: [debug] }
  - { name: ci, digest: "${digestOf('of-ci')}", scopes: [run] }
  - { name: eve, tenant: acme, digest: "${digestOf('of-eve')}", scopes: [debug] }
  - { name: part, digest: "${digestOf('of-part')}", scopes: [debug], agents: [echo] }
`

describe('the door of /metrics', () => {
  afterEach(closeServers)

  async function makeAsk(options: Partial<ServerOptions>) {
    const { app } = await makeServer({ metrics: true, ...options }, { 'keys.yml': KEYS })
    return async (key?: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      return (await app.inject({ url: '/metrics', headers })).statusCode
    }
  }

  it('is open where there is no file of keys', async () => {
    expect(await (await makeAsk({}))()).to.equal(200)
    expect(await (await makeAsk({ uiToken: 'token' }))()).to.equal(200)
  })

  it('takes the token of the debug UI, and keys with debug for all tenants and agents', async () => {
    const ask = await makeAsk({ keys: 'keys.yml', uiToken: 'token' })
    const statuses = await Promise.all([undefined, 'wrong', 'of-ci', 'of-eve', 'of-part', 'of-ops', 'token'].map(ask))
    expect(statuses).to.deep.equal([401, 401, 403, 403, 403, 200, 200])
  })

  it('is opened by --open-metrics', async () => {
    expect(await (await makeAsk({ keys: 'keys.yml', openMetrics: true }))()).to.equal(200)
  })

  it('needs a key where keys are required', async () => {
    const error = await makeAsk({ requireAuth: true, compatApiKey: 'k', host: '0.0.0.0' }).catch((thrown) => thrown)
    expect([error.code, error.message]).to.deep.equal([
      'OPTION_INVALID',
      '/metrics would be open, and --require-auth does not allow that.',
    ])
    expect(await (await makeAsk({ requireAuth: true, compatApiKey: 'k' }))()).to.equal(200)
    const ask = await makeAsk({ requireAuth: true, compatApiKey: 'k', uiToken: 'token' })
    expect([await ask(), await ask('k'), await ask('token')]).to.deep.equal([401, 401, 200])
  })
})
