import { hash } from 'node:crypto'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import fastify from 'fastify'
import { HostError } from '../../../src/errors.ts'
import { keysOf } from '../../../src/server/guards/api-keys.ts'
import { Doors } from '../../../src/server/guards/doors.ts'
import { FollowedKeys } from '../../../src/server/guards/followed-keys.ts'
import { describeDoubts, parseKeys, readKeysFile } from '../../../src/server/guards/keys-file.ts'
import { Origins } from '../../../src/server/guards/origins.ts'
import { principalOf } from '../../../src/server/guards/principal.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { runCli } from '../../support/run-cli.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']
const KEYS = `keys:
  - { name: alice, tenant: acme, digest: "${digestOf('key-of-alice')}", scopes: [run, approve] }
  - { name: ci, digest: "${digestOf('key-of-ci')}", scopes: [run] }
  - { name: eve, tenant: acme, digest: "${digestOf('key-of-eve')}", scopes: [debug] }
`

function digestOf(key: string): string {
  return `sha256:${hash('sha256', key)}`
}

const refuseWrongKey = () => new HostError('UNAUTHORIZED', 'Invalid API key')

describe('the file of keys', () => {
  afterEach(closeServers)

  async function makeKeyed(options: Partial<ServerOptions> = {}) {
    const { app } = await makeServer({ adapters: ADAPTERS, keys: 'keys.yml', ...options }, { 'keys.yml': KEYS })
    const ask = async (url: string, key?: string, payload?: object) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const { statusCode, body } = await app.inject({ method: payload ? 'POST' : 'GET', url, headers, payload })
      return { status: statusCode, body }
    }
    return { app, ask }
  }

  it('closes every adapter', async () => {
    const { ask } = await makeKeyed()
    const open = ['/compat/models', '/compat/approvals', '/v1/responses', '/api/ui/live'].map((url) => ask(url))
    const answers = await Promise.all(open)
    expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401])
    expect(answers[0]?.body).to.equal('{"detail":"Missing Authorization header"}')
    expect((await ask('/compat/models', 'wrong')).body).to.equal('{"detail":"Invalid API key"}')
    const query = { query: '{ list_agents { id } }' }
    expect((await ask('/api/ui/graphql', undefined, query)).status).to.equal(401)
    expect((await ask('/api/ui/graphql', 'key-of-eve', query)).status).to.equal(200)
    expect((await ask('/api/ui/graphql', 'key-of-alice', query)).status).to.equal(403)
    expect((await ask('/')).status).to.not.equal(401)
    expect((await ask('/readyz')).status).to.equal(200)
  })

  it('answers MCP as the specification does', async () => {
    const { app } = await makeKeyed()
    const ping = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization }
      const payload = { jsonrpc: '2.0', id: 1, method: 'ping' }
      const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp', payload, headers })
      return [statusCode, JSON.parse(body)]
    }
    const refused = (message: string) => [200, { jsonrpc: '2.0', id: null, error: { code: -32001, message } }]
    expect(await ping()).to.deep.equal(refused('Missing Authorization header'))
    expect(await ping('bearer key-of-ci')).to.deep.equal(refused('Invalid Authorization header format'))
    expect(await ping('Bearer  key-of-ci')).to.deep.equal(refused('Invalid API key'))
    expect(await ping('Bearer key-of-eve')).to.deep.equal(refused("The key 'eve' lacks the scope 'run'"))
    expect(await ping('Bearer key-of-ci')).to.deep.equal([200, { jsonrpc: '2.0', id: 1, result: {} }])
  })

  it("lets in an adapter's own key beside its own", async () => {
    const { ask } = await makeKeyed({ compatApiKey: 'own', uiToken: 'token' })
    const statuses = await Promise.all(
      ['own', 'key-of-ci', 'key-of-alice', 'token'].map(async (key) => (await ask('/compat/models', key)).status),
    )
    expect(statuses).to.deep.equal([200, 200, 200, 401])
    const query = { query: '{ list_agents { id } }' }
    const seen = ['token', 'own'].map(async (key) => (await ask('/api/ui/graphql', key, query)).status)
    expect(await Promise.all(seen)).to.deep.equal([200, 401])
  })

  it('says who asks, and for which tenant', async () => {
    const { dir } = await makeProject({ 'keys.yml': KEYS })
    const fileKeys = await FollowedKeys.read(`${dir}/keys.yml`, dir)
    const adapter = { name: 'Chat', keys: keysOf('own') }
    const app = fastify()
    app.addHook(
      'onRequest',
      new Doors([adapter], {
        fileKeys,
        origins: new Origins({ allowedHosts: [], trustedOrigins: [] }),
        refuseWrongKey,
      }).doorOf(adapter),
    )
    app.get('/', (request) => principalOf(request))
    const whoIs = async (key: string) =>
      (await app.inject({ url: '/', headers: { authorization: `Bearer ${key}` } })).json()
    const keyed = { hasKey: true, isOperator: false }
    expect(await whoIs('key-of-alice')).to.deep.equal({
      name: 'alice',
      tenant: 'acme',
      scopes: ['run', 'approve'],
      ...keyed,
    })
    expect(await whoIs('key-of-ci')).to.deep.equal({ name: 'ci', tenant: '', scopes: ['run'], ...keyed })
    expect(await whoIs('own')).to.deep.equal({ tenant: '', scopes: ['run', 'approve'], ...keyed })
    expect((await whoIs('wrong')).message).to.equal('Invalid API key')
  })

  it('closes adapters of the project, but for those that check their requests themselves', async () => {
    const adapter = (name: string, more = '') =>
      `export class ${name} { ${more}; constructor({ requiresKey }) { this.requiresKey = requiresKey } adapt(app) { app.get('/${name}', () => ({ requiresKey: this.requiresKey })) } }`
    const files = { 'keys.yml': KEYS, 'plain.ts': adapter('Plain'), 'own.ts': adapter('Own', 'checksItself = true') }
    const adapters = ['plain.Plain', 'own.Own']
    const { app } = await makeServer({ adapters, keys: 'keys.yml' }, files)
    const headers = { authorization: 'Bearer key-of-ci' }
    expect((await app.inject('/Plain')).statusCode).to.equal(401)
    expect((await app.inject({ url: '/Plain', headers })).json()).to.deep.equal({ requiresKey: true })
    expect((await app.inject('/Own')).statusCode).to.equal(200)
  })

  it('is refused with its line, and what to write instead', async () => {
    const read = async (text: string) => {
      const { dir } = await makeProject({ 'keys.yml': text })
      const error: HostError = await readKeysFile(`${dir}/keys.yml`, dir).catch((thrown) => thrown)
      return [error.code, error.message, ...error.suggestions]
    }
    const list = 'The file lists keys: { name, tenant, digest, scopes, adapters, agents, expires, limits }.'
    expect(await read('')).to.deep.equal(['OPTION_INVALID', 'keys.yml:1:1: It must be an object.', list])
    expect(await read('keys: []')).to.deep.equal(['OPTION_INVALID', 'keys.yml:1:1: keys must not be empty.', list])
    const entry = (fields: string) => `keys:\n  - name: a\n    digest: ${digestOf('x')}\n    ${fields}\n`
    expect(await read(entry('scopes: [run, aprove]'))).to.deep.equal([
      'OPTION_INVALID',
      "keys.yml:4:19: keys[0].scopes[1] must be one of 'run', 'approve', 'debug' and 'forget'.",
      'List some of run, approve, debug, forget.',
    ])
    expect(await read(entry('scope: [run]'))).to.deep.equal([
      'OPTION_INVALID',
      "keys.yml:4:5: The key 'keys[0].scope' is not known.\nkeys.yml:2:5: keys[0].scopes is missing.",
      "Did you mean 'scopes'?",
      'List some of run, approve, debug, forget.',
    ])
    expect(await read('keys: [{ name: a, digest: secret, scopes: [run] }]')).to.deep.equal([
      'OPTION_INVALID',
      'keys.yml:1:19: keys[0].digest must match pattern "^sha256:[0-9a-fA-F]{64}$".',
      'Write sha256: and what this prints: printf %s "$KEY" | sha256sum',
    ])
    const twice = `${entry('scopes: [run]')}  - { name: b, digest: "${digestOf('x').toUpperCase().replace('SHA', 'sha')}", scopes: [run] }`
    expect(await read(twice)).to.deep.equal([
      'OPTION_INVALID',
      "keys.yml:5:16: The key of 'b' is also that of 'a'.",
      'Make a key of its own: openssl rand -hex 32',
    ])
    const other = `  - { name: a, digest: "${digestOf('y')}", tenant: acme, scopes: [run] }`
    expect(await read(`${entry('scopes: [run]')}${other}`)).to.deep.equal([
      'OPTION_INVALID',
      "keys.yml:5:7: Another key of 'a' has another tenant, or other scopes, agents or limits.",
      'Give it a name of its own, or the same tenant, scopes, agents and limits.',
    ])
    const expires = 'Write a day, which begins in UTC, or a moment: 2027-01-31, 2027-01-31T18:00:00+01:00.'
    for (const text of ['"31.1.2027"', '2027-13-01', '2027-02-31', '"2027-02-29T18:00:00Z"', '"2027-01-31T18:00:00"']) {
      const [, message, advice] = await read(entry(`scopes: [run]\n    expires: ${text}`))
      expect(message).to.contain('keys.yml:5:')
      expect(advice).to.equal(expires)
    }
  })

  it('is looked through quickly for globs without agents, however many keys have them', () => {
    const keys = Array.from({ length: 3000 }, (_, index) => {
      return `  - { name: k${index}, digest: "${digestOf(String(index))}", scopes: [run], agents: [ehco, "s-*"] }\n`
    })
    const { doubts } = parseKeys(`keys:\n${keys.join('')}`, 'keys.yml')
    const agents = ['echo', ...Array.from({ length: 300 }, (_, index) => `sales-of-region-${index}`)]
    const spentMs = measureCpuTime()
    const lines = describeDoubts(doubts, agents)
    expect(spentMs()).to.be.below(300)
    expect([lines.length, lines.at(-2)]).to.deep.equal([
      6000,
      "keys.yml:3001:127: The key of 'k2999' is for 'ehco', which matches no agent. Did you mean 'echo'?",
    ])
  })

  it('has limits of keys and tenants, which are refused with their line where they are none', async () => {
    const read = async (limits: string, tenants = '') => {
      const text = `keys:\n  - { name: a, digest: "${digestOf('x')}", scopes: [run], limits: ${limits} }\n${tenants}`
      const { dir } = await makeProject({ 'keys.yml': text })
      return readKeysFile(`${dir}/keys.yml`, dir).catch((error: HostError) => [error.message, ...error.suggestions])
    }
    const tenants = 'tenants: [{ name: acme, limits: { cost_per_day: 0.5 } }]'
    const good = await read('{ requests_per_minute: 5, concurrent_runs: 1, tokens_per_day: 7 }', tenants)
    if (Array.isArray(good)) expect.fail(good.join(' '))
    expect(good.keys[0]?.principal.limits).to.deep.equal({
      requests_per_minute: 5,
      concurrent_runs: 1,
      tokens_per_day: 7,
    })
    expect([...good.tenants]).to.deep.equal([['acme', { cost_per_day: 0.5 }]])
    const names = 'The limits: requests_per_minute, concurrent_runs, tokens_per_day, cost_per_day (US dollars).'
    for (const wrong of [
      '{ requests_per_minute: 0 }',
      '{ concurrent_runs: 1.5 }',
      '{ cost_per_day: 0 }',
      '{ tokens_per_day: -1 }',
      '5',
    ]) {
      const [message, advice] = (await read(wrong)) as string[]
      expect(message).to.match(/^keys\.yml:2:\d+: keys\[0\]\.limits/)
      expect(advice, wrong).to.equal(names)
    }
    const [unknown, near] = (await read('{ request_per_minute: 5 }')) as string[]
    expect([unknown, near]).to.deep.equal([
      "keys.yml:2:124: The key 'keys[0].limits.request_per_minute' is not known.",
      "Did you mean 'requests_per_minute'?",
    ])
    const twice = 'tenants: [{ name: b, limits: {} }, { name: b, limits: {} }]'
    expect(await read('{}', twice)).to.deep.equal([
      "keys.yml:3:38: The tenant 'b' stands here a second time.",
      'Give each tenant one entry.',
    ])
    const rotated = `{}}\n  - { name: a, digest: "${digestOf('y')}", scopes: [run], limits: { tokens_per_day: 1 }`
    expect(((await read(rotated)) as string[])[0]).to.contain("Another key of 'a' has another tenant, or other")
  })

  it('must be there, and hold no key that an option holds', async () => {
    const missing = await makeServer({ keys: 'no.yml' }).catch((error) => error)
    expect([missing.code, missing.message, missing.suggestions]).to.deep.equal([
      'OPTION_INVALID',
      'There is no file of keys no.yml.',
      ['Name the file of keys with --keys.'],
    ])
    const both = await makeKeyed({ compatApiKey: 'key-of-ci' }).catch((error) => error)
    expect(both.message).to.equal("The key of ChatCompatApiAdapter is also that of 'ci' in the file of keys.")
  })

  it('stops the command before it serves anything', async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
      'keys.yml': 'keys: 1',
    })
    const env = { AGENT_HOST_KEYS: 'keys.yml' }
    const { exitCode, stderr } = await runCli(['serve', '--port', '0'], { cwd: dir, env })
    expect([exitCode, stderr]).to.deep.equal([
      2,
      'Error: keys.yml:1:1: keys must be an array.\n  The file lists keys: { name, tenant, digest, scopes, adapters, agents, expires, limits }.\n',
    ])
  })
})

describe('keys that name scopes', () => {
  afterEach(closeServers)

  it('leave nobody without a key to decide, also not on an open adapter', async () => {
    const { app } = await makeServer({ compatApiKey: 'alice:run+approve:key', adapters: ADAPTERS })
    const decide = await app.inject({
      method: 'POST',
      url: '/compat/approvals/mcpr_x',
      payload: { decision: 'approve' },
    })
    expect([decide.statusCode, decide.body]).to.deep.equal([
      403,
      '{"detail":"Decisions need a key with the scope \'approve\'"}',
    ])
    const headers = { authorization: 'Bearer key' }
    const payload = chat('echo', 'hi')
    expect(
      (await app.inject({ method: 'POST', url: '/compat/chat/completions', headers, payload })).statusCode,
    ).to.equal(200)
  })
})
