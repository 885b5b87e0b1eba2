import { connect } from 'node:net'
import { expect } from 'chai'
import { makeIsProxy } from '../../../src/server/guards/trusted-proxies.ts'
import { eventually } from '../../support/eventually.ts'
import { closeServers, makeServer } from '../../support/server.ts'

const KEYED = { adapters: ['ChatCompatApiAdapter'], compatApiKey: 'right', authRateLimit: 1 }

describe('trusted proxies', () => {
  afterEach(closeServers)

  /** Asks with a wrong key: 401 for an address that has no wrong key yet, 429 for others. */
  async function makeAsk(trustedProxies: readonly string[]) {
    const { app } = await makeServer({ ...KEYED, trustedProxies })
    return async (forwarded: string | string[], remoteAddress = '10.0.0.7') => {
      const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': forwarded }
      return (await app.inject({ url: '/compat/models', remoteAddress, headers })).statusCode
    }
  }

  it('name the client whose wrong keys count', async () => {
    const ask = await makeAsk(['10.0.0.0/8', 'fd00::/8'])
    expect(await ask('198.51.100.1')).to.equal(401)
    expect(await ask('198.51.100.2')).to.equal(401)
    expect(await ask('198.51.100.1, 10.9.9.9')).to.equal(429)
    expect(await ask('198.51.100.2', '::ffff:10.0.0.8')).to.equal(429)
    expect(await ask('198.51.100.2', 'fd00::1')).to.equal(429)
  })

  it('are not believed about what stands left of the client: everybody can write that', async () => {
    const ask = await makeAsk(['10.0.0.7'])
    expect(await ask('203.0.113.1, 198.51.100.1')).to.equal(401)
    expect(await ask('203.0.113.2, 198.51.100.1')).to.equal(429)
    expect(await ask(`${'203.0.113.3, '.repeat(10_000)}198.51.100.1`)).to.equal(429)
  })

  it('are those that are listed: the header of others is ignored', async () => {
    for (const listed of [[], ['10.0.0.7']]) {
      const ask = await makeAsk(listed)
      for (const neighbour of ['192.0.2.1', '10.0.0.8']) {
        expect(await ask('198.51.100.1', neighbour)).to.equal(401)
        expect(await ask('198.51.100.2', neighbour)).to.equal(429)
      }
    }
  })

  it('may have as many connections as there are clients', async () => {
    const { app, listen } = await makeServer({ maxConnectionsPerAddress: 1, trustedProxies: ['127.0.0.1'] })
    const { port } = new URL(await listen())
    const sockets = [1, 2, 3].map(() => connect(Number(port), '127.0.0.1'))
    const count = () => new Promise((resolve) => app.server.getConnections((_error, open) => resolve(open)))
    await eventually(async () => expect(await count()).to.equal(3))
    for (const socket of sockets) socket.destroy()
  })

  it('do not change which host a request is for', async () => {
    const { app } = await makeServer({ trustedProxies: ['127.0.0.1'] })
    const headers = { host: 'evil.example', 'x-forwarded-host': 'localhost', 'x-forwarded-proto': 'https' }
    expect((await app.inject({ url: '/compat/models', headers })).statusCode).to.equal(403)
    const served = { host: 'localhost', 'x-forwarded-host': 'evil.example' }
    expect((await app.inject({ url: '/compat/models', headers: served })).statusCode).to.equal(200)
  })

  it('are addresses or subnets', async () => {
    for (const text of ['proxy', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', 'fd00::/129', '10.0.0.0/-1', '']) {
      expect(() => makeIsProxy([text]), text).to.throw('must be an address or a subnet such as 10.0.0.0/8')
    }
    const error = await makeServer({ trustedProxies: ['10.0.0.0/99'] }).catch((thrown) => thrown)
    expect(error.message).to.equal(
      "--trusted-proxy (AGENT_HOST_TRUSTED_PROXY) must be an address or a subnet such as 10.0.0.0/8, not '10.0.0.0/99'.",
    )
  })
})
