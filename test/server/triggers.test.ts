import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { signMessage } from '../../src/durable/webhooks/signature.ts'
import { MISSING_KEYS } from '../../src/host/host.ts'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { withinOneMinute } from '../support/limit-walk.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'
import { keysFile } from '../support/tenant-visitor.ts'

const STANDARD = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`
const SECRET = 'a-secret-of-enough-length'
const AGENT = `id: echo
triggers:
  - { id: push, secret: "\${TRIGGER_SECRET}", signature: github, key: ci }
  - { id: events, secret: ${STANDARD}, signature: standard, tenant: acme }
  - { id: slack, secret: ${SECRET}, signature: slack }
  - { id: hook, secret: ${SECRET}, signature: bearer }
modules: [{ id: main, module: echo }]`
const TYPED = `id: typed
input: { type: object, properties: { city: { type: string } }, required: [city] }
triggers: [{ id: hook, secret: ${SECRET}, signature: bearer }]
modules: [{ id: main, module: echo }]`

type Headers = Readonly<Record<string, string>>

describe('triggers', () => {
  let server: BuiltServer
  let project: TempProject

  const open = async (options: object = {}, keys = '') => {
    project = await makeProject({ 'agents/echo.yml': AGENT, 'agents/typed.yml': TYPED, 'keys.yml': keys })
    process.env.TRIGGER_SECRET = SECRET
    server = await buildServer({
      projectDir: project.dir,
      adapters: ['TriggersAdapter', 'ResponsesCompatApiAdapter'],
      logLevel: 'silent',
      ...options,
    })
    await server.app.ready()
  }
  beforeEach(() => open())
  afterEach(async () => {
    delete process.env.TRIGGER_SECRET
    await server.close()
  })

  const send = async (path: string, body: string, headers: Headers) => {
    const all = { 'content-type': 'application/json', ...headers }
    const reply = await server.app.inject({ method: 'POST', url: `/triggers/${path}`, payload: body, headers: all })
    return { status: reply.statusCode, ...reply.json() }
  }
  const sha = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')
  const github = (body: string, delivery: string) => ({
    'x-hub-signature-256': `sha256=${sha(body)}`,
    'x-github-delivery': delivery,
  })
  const standard = (body: string, id: string, ageS = 0): Headers => {
    const timestamp = Math.floor(Date.now() / 1000) - ageS
    const signature = signMessage({ id, timestamp, body }, [STANDARD])
    return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature }
  }
  const slack = (body: string, ageS = 0): Headers => {
    const timestamp = String(Math.floor(Date.now() / 1000) - ageS)
    return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${sha(`v0:${timestamp}:${body}`)}` }
  }
  const read = async (id: string) => {
    for (;;) {
      const reply = await server.app.inject({ url: `/compat/responses/${id}` })
      const { status } = reply.json()
      if (status !== 'queued' && status !== 'in_progress') return reply.json()
      await new Promise((done) => setImmediate(done))
    }
  }

  it('of GitHub start a run of the body, once for a body, whatever the id of the delivery', async () => {
    const body = '{"ref":"refs/heads/main"}'
    const first = await send('echo/push', body, github(body, 'one'))
    expect(first.status).to.equal(202)
    expect(await send('echo/push', body, github(body, 'two'))).to.deep.equal(first)
    const response = await read(first.id)
    expect(response.output[0].content[0].text).to.equal(body)
    expect(response.metadata).to.deep.equal({ trigger: 'push' })
  })

  it('of GitHub start nothing for an id that has come with another body, at once too', async () => {
    const [body, other] = ['{"ref":"refs/heads/main"}', '{"ref":"refs/heads/next"}']
    const first = await send('echo/push', body, github(body, 'one'))
    const refused = await send('echo/push', other, github(other, 'one'))
    expect(refused).to.deep.equal({ status: 409, detail: 'This Idempotency-Key was used with another body' })
    // A replayed body takes no id from the delivery that has it.
    expect(await send('echo/push', body, github(body, 'two'))).to.deep.equal(first)
    const second = await send('echo/push', other, github(other, 'two'))
    expect(second.status).to.equal(202)
    expect(second.id).to.not.equal(first.id)
    const list = await Promise.all(['3', '4', '5'].map((text) => send('echo/push', text, github(text, 'at once'))))
    expect(list.map(({ status }) => status).toSorted()).to.deep.equal([202, 409, 409])
    const alike = await Promise.all([
      send('echo/push', '[6]', github('[6]', 'six')),
      send('echo/push', '[ 6]', github('[ 6]', 'six')),
    ])
    expect(alike[0]).to.deep.equal(alike[1])
  })

  it('start nothing twice, also after the run is gone', async () => {
    const body = '{"a":1}'
    const { id } = await send('echo/push', body, github(body, 'one'))
    await read(id)
    await server.app.inject({ method: 'DELETE', url: `/compat/responses/${id}` })
    expect((await send('echo/push', body, github(body, 'two'))).id).to.equal(id)
    expect((await server.app.inject({ url: `/compat/responses/${id}` })).statusCode).to.equal(404)
  })

  it('of Standard Webhooks take a message of five minutes, once, for their tenant', async () => {
    const body = '{"type":"order.paid"}'
    const first = await send('echo/events', body, standard(body, 'msg_1', 290))
    expect(first.status).to.equal(202)
    expect(await send('echo/events', body, standard(body, 'msg_1'))).to.deep.equal(first)
    expect((await server.app.inject({ url: `/compat/responses/${first.id}` })).statusCode).to.equal(404)
    const old = await send('echo/events', body, standard(body, 'msg_2', 360))
    expect(old.status).to.equal(401)
  })

  it('of Slack answer the challenge, and start a run for each event', async () => {
    const challenge = '{"type":"url_verification","challenge":"abc"}'
    expect(await send('echo/slack', challenge, slack(challenge))).to.deep.equal({ status: 200, challenge: 'abc' })
    const body = '{"type":"event_callback","event_id":"Ev1"}'
    const first = await send('echo/slack', body, slack(body))
    expect(first.status).to.equal(202)
    expect(await send('echo/slack', body, slack(body, 60))).to.deep.equal(first)
    expect((await send('echo/slack', body, slack(body, 360))).status).to.equal(401)
    expect((await send('echo/slack', '{}', slack('{}'))).status).to.equal(400)
  })

  it('with a bearer token need an Idempotency-Key', async () => {
    const headers = { authorization: `Bearer ${SECRET}` }
    expect((await send('echo/hook', '{}', headers)).status).to.equal(400)
    const first = await send('echo/hook', '{}', { ...headers, 'idempotency-key': 'k1' })
    expect([first.status, (await send('echo/hook', '{}', { ...headers, 'idempotency-key': 'k1' })).id]).to.deep.equal([
      202,
      first.id,
    ])
    expect((await send('echo/hook', '{"a":1}', { ...headers, 'idempotency-key': 'k1' })).status).to.equal(409)
  })

  it('answer alike for an unknown agent, an unknown trigger, and a signature over other bytes', async () => {
    const body = '{"a":1}'
    const replies = await Promise.all([
      send('none/push', body, github(body, 'one')),
      send('echo/none', body, github(body, 'one')),
      send('echo/push', `${body} `, github(body, 'one')),
      send('echo/push', body, {}),
      send('echo/hook', body, { authorization: 'Bearer wrong-secret-of-length', 'idempotency-key': 'k' }),
      send('echo/push', 'no json', { 'x-hub-signature-256': 'sha256=00' }),
    ])
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).to.equal(1)
    expect(replies[0]?.status).to.equal(401)
  })

  it("give the agent its input, and say which field does not fit the agent's schema", async () => {
    const headers = { authorization: `Bearer ${SECRET}`, 'idempotency-key': 'k1' }
    const wrong = await send('typed/hook', '{"city":1}', headers)
    expect([wrong.status, wrong.detail]).to.deep.equal([400, 'city must be a string.'])
    const { id } = await send('typed/hook', '{"city":"Lima"}', headers)
    expect((await read(id)).output[0].content[0].text).to.equal('{"city":"Lima"}')
  })

  it('count for the key that they name, and for their tenant', async () => {
    await withinOneMinute()
    await server.close()
    const limits = { requests_per_minute: 1 }
    await open({ keys: 'keys.yml' }, keysFile([{ name: 'ci', scopes: ['run'], limits }], [{ name: 'acme', limits }]))
    const bodies = ['{"a":1}', '{"a":2}'] as const
    for (const [index, status] of [202, 429].entries()) {
      const body = bodies[index] ?? ''
      expect((await send('echo/push', body, github(body, `id-${index}`))).status).to.equal(status)
      expect((await send('echo/events', body, standard(body, `msg_${index}`))).status).to.equal(status)
    }
    // A copy starts nothing, and a trigger without a key or tenant has no limits.
    expect((await send('echo/push', bodies[0], github(bodies[0], 'two'))).status).to.equal(202)
    for (const id of ['k1', 'k2']) {
      const headers = { authorization: `Bearer ${SECRET}`, 'idempotency-key': id }
      expect((await send('echo/hook', '{}', headers)).status).to.equal(202)
    }
  }).timeout(40_000)

  it('start nothing while the key that they name is not in force, and are warned of at start', async () => {
    await server.close()
    const key = { name: 'ci', scopes: ['run'] }
    await open(
      { keys: 'keys.yml' },
      keysFile([
        { ...key, name: 'other' },
        { ...key, tenant: 'acme' },
      ]),
    )
    const body = '{"a":1}'
    const push = () => send('echo/push', body, github(body, 'one'))
    const refused = await push()
    expect([refused.status, refused.detail]).to.deep.equal([503, 'Nothing can be started here at this moment'])
    expect(server.host[MISSING_KEYS]()).to.deep.equal([
      "agents/echo.yml:3:65: trigger 'push': the file of keys has no key 'ci' without a tenant that is in force. It starts nothing. Add it: agent-host keys add ci",
    ])
    await project.write('keys.yml', keysFile([key]))
    await eventually(async () => expect((await push()).status).to.equal(202))
    await project.write(
      'keys.yml',
      JSON.stringify({ keys: [{ ...JSON.parse(keysFile([key])).keys[0], expires: '2020-01-01' }] }),
    )
    let tries = 1
    await eventually(async () => {
      // A copy of one that has started a run is answered with that run.
      const other = `{"a":${++tries}}`
      expect((await send('echo/push', other, github(other, `two-${tries}`))).status).to.equal(503)
    })
  })

  it('take JSON of 1 MiB at most', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(1024 * 1024) })
    expect((await send('echo/push', body, github(body, 'one'))).status).to.equal(413)
    const text = await send('echo/push', 'hi', { ...github('hi', 'one'), 'content-type': 'text/plain' })
    expect(text.status).to.equal(415)
    expect((await send('echo/push', 'hi', github('hi', 'one'))).status).to.equal(400)
  })

  it('are no part of what is shown of agents', () => {
    const shown = JSON.stringify([server.host.list(), server.host.describe('echo')])
    expect(shown).to.contain('"signature":"github"').and.to.not.contain(SECRET).and.to.not.contain(STANDARD)
  })

  it('need secrets that cannot be guessed: check names them', async () => {
    for (const [secret, problem] of [
      ['"${NOT_SET_HERE}"', 'secret needs a variable that is not set'],
      ['short', 'secret has fewer than 16 characters'],
      ['"a-secret-of-enough-length "', 'secret has white space at an end'],
    ]) {
      await project.write('agents/echo.yml', AGENT.replace('"${TRIGGER_SECRET}"', secret ?? ''))
      const { stderr, exitCode } = await callCli(['check'], { cwd: project.dir })
      expect([stderr.includes(`trigger 'push': ${problem}.`), exitCode], stderr).to.deep.equal([true, 1])
    }
  })

  it('have no route where their adapter is not served', async () => {
    await server.close()
    server = await buildServer({ projectDir: project.dir, adapters: ['ChatCompatApiAdapter'], logLevel: 'silent' })
    expect((await send('echo/push', '{}', github('{}', 'one'))).status).to.equal(404)
  })
})
