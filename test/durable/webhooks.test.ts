import { rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import OpenAI from 'openai'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { openProject } from '../../src/assembly/open-project.ts'
import type { AssembledProject } from '../../src/assembly/opened-project.ts'
import { timeKey } from '../../src/durable/rows/tenant-part.ts'
import {
  type Delivery,
  expireDeliveries,
  parseDelivery,
  putDelivery,
} from '../../src/durable/webhooks/delivery-rows.ts'
import { FollowedWebhooks } from '../../src/durable/webhooks/followed-webhooks.ts'
import { signMessage } from '../../src/durable/webhooks/signature.ts'
import { WebhookSender } from '../../src/durable/webhooks/webhook-sender.ts'
import { readWebhooks } from '../../src/durable/webhooks/webhooks-file.ts'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { buildServer } from '../../src/server/server.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.from('another secret of 24 ch.').toString('base64')}`
const EVENTS =
  '[response.completed, response.failed, response.cancelled, response.incomplete, response.waiting, approval.decided]'

interface Received {
  readonly body: string
  readonly headers: IncomingHttpHeaders
  readonly event: { readonly id: string; readonly type: string; readonly data: { readonly id: string } }
}

type Unwrap = (body: string, headers: Record<string, string>, secret: string) => unknown

/** Clients that verify what they receive. */
const CLIENTS: Readonly<Record<string, Unwrap>> = {
  openai: (body, headers, secret) => new OpenAI({ apiKey: 'x' }).webhooks.unwrap(body, headers, secret),
  '@anthropic-ai/sdk': (body, headers, key) =>
    new Anthropic({ apiKey: 'x' }).beta.webhooks.unwrap(body, { headers, key }),
  standardwebhooks: (body, headers, secret) => new StandardWebhook(secret).verify(body, headers),
}

describe('webhooks', () => {
  let folder: TempProject
  let project: AssembledProject
  let receiver: Server
  let received: Received[]
  let answer: (path: string, count: number) => number | undefined
  let port: number
  const closing: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    received = []
    answer = () => 204
    receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks).toString()
      received.push({ body, headers: request.headers, event: JSON.parse(body) })
      const status = answer(request.url ?? '', received.length)
      if (status === undefined) return
      response.writeHead(status, status === 302 ? { location: 'http://169.254.169.254/' } : {})
      if (status === 200) response.write('x'.repeat(1_000_000))
      if (status !== 200) response.end()
    })
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
    port = (receiver.address() as AddressInfo).port
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
    receiver.closeAllConnections()
    await new Promise((done) => receiver.close(done))
  })

  const hook = (more = '', path = '') =>
    `  - { url: "http://127.0.0.1:${port}/${path}", secret: "${SECRET}", events: ${EVENTS}${more} }\n`
  const open = async (webhooks: string, options: object = {}) => {
    folder = await makeProject({ ...CLIENT_TOOLS_PROJECT, 'webhooks.yml': `webhooks:\n${webhooks}` })
    project = await reopen(options)
  }
  const reopen = async (options: object = {}) => {
    const given = { projectDir: folder.dir, logLevel: 'silent', drainTimeout: 0, webhookAllowPrivate: true, ...options }
    const opened = await openProject(resolveServerOptions(given), {})
    closing.push(() => opened.close())
    return opened
  }
  const ask = async (content: string, tenant = '', agent = 'tools') => {
    const runs = project.runs.of(tenant)
    const { id } = await runs.start({ agent, messages: [{ role: 'user', content }] })
    await runs.outcome(id)
    return id
  }
  const told = () => received.map(({ event: { type, data } }) => `${type} ${data.id}`)
  const stored = async (tenant = ''): Promise<Delivery[]> => {
    const { records } = project.durableRuns.opened.of(tenant)
    return (await records.entries({ prefix: 'delivery:', limit: 100 })).map(([key, text]) => parseDelivery(key, text))
  }

  it('tell of a response once it has ended, in 4 KB', async () => {
    await open(hook())
    const id = await ask('hello')
    await eventually(() => expect(told()).to.deep.equal([`response.completed ${id}`]))
    expect(received[0]?.event).to.deep.include({ object: 'event', type: 'response.completed', data: { id } })
    expect(Buffer.byteLength(received[0]?.body ?? '')).to.be.below(4096)
    await eventually(async () => expect(await stored()).to.deep.equal([]))
  })

  for (const [name, unwrap] of Object.entries(CLIENTS))
    it(`are accepted by ${name}, which refuses a changed body, another id, another secret and an old message`, async () => {
      await open(hook())
      await ask('hello')
      await eventually(() => expect(received).to.have.lengthOf(1))
      const { body, headers } = received[0] as Received
      const sent = headers as Record<string, string>
      expect(await unwrap(body, sent, SECRET)).to.deep.equal(JSON.parse(body))
      const timestamp = Math.floor(Date.now() / 1000) - 360
      const id = String(sent['webhook-id'])
      const old = {
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signMessage({ id, timestamp, body }, [SECRET]),
      }
      const refused: [string, Record<string, string>, string][] = [
        [body.replace('resp_', 'resq_'), sent, SECRET],
        [body, { ...sent, 'webhook-id': `${id}0` }, SECRET],
        [body, sent, OTHER_SECRET],
        [body, { ...sent, ...old }, SECRET],
      ]
      for (const given of refused) {
        const error = await Promise.resolve(given)
          .then((args) => unwrap(...args))
          .catch((error) => error)
        expect(error).to.be.instanceOf(Error)
      }
    })

  it('are signed with both secrets while one is rotated', async () => {
    await open(hook().replace(`"${SECRET}"`, `["${SECRET}", "${OTHER_SECRET}"]`))
    await ask('hello')
    await eventually(() => expect(received).to.have.lengthOf(1))
    const [{ body, headers } = { body: '', headers: {} }] = received
    for (const secret of [SECRET, OTHER_SECRET])
      await new OpenAI({ apiKey: 'x' }).webhooks.verifySignature(body, headers as Record<string, string>, secret)
  })

  it('tell of a run that waits, of the decision, and of the run that goes on, in this order', async () => {
    answer = (_, count) => (count === 1 ? 500 : 204)
    await open(hook())
    const id = await ask('pay Lima')
    const runs = project.runs.of('')
    const [waiting] = (await runs.listWaiting()).waiting
    await runs.answer(new Map([[waiting?.id ?? '', { kind: 'approval', decision: 'approve' }]]), 'me')
    const next = (await runs.find(id))?.continuedBy
    await runs.outcome(next ?? '')
    await eventually(() => expect(received).to.have.lengthOf(4), 20_000)
    expect(told().filter((line) => !line.includes(String(next)))).to.deep.equal([
      `response.waiting ${id}`,
      `response.waiting ${id}`,
      `approval.decided ${waiting?.id}`,
    ])
    expect(told()).to.include(`response.completed ${next}`)
    expect(new Set(received.map(({ event }) => event.id)).size).to.equal(3)
  })

  it('tell of a cancellation after a wait', async () => {
    await open(hook())
    const id = await ask('pay Lima')
    await project.runs.of('').cancel(id)
    await eventually(() => expect(told()).to.deep.equal([`response.waiting ${id}`, `response.cancelled ${id}`]))
  })

  it('tell only of their agents, events and tenants', async () => {
    await open(hook(', tenants: [acme], agents: [sight]', 'acme') + hook('', 'nameless'))
    const [own, other] = [await ask('hello', 'acme', 'sight'), await ask('hello', 'beta', 'sight')]
    await ask('hello', 'acme', 'tools')
    const nameless = await ask('hello')
    await eventually(() => expect(received).to.have.lengthOf(2))
    expect(told()).to.have.members([`response.completed ${own}`, `response.completed ${nameless}`])
    expect(told().join()).to.not.contain(other)
  })

  it('are delivered by any server that has them, after the one that ended the run is gone', async () => {
    await open(hook(), { noWorker: true })
    await project.durableRuns.open()
    await project.runs.of('').start({ agent: 'tools', messages: [{ role: 'user', content: 'hello' }] })
    project = await reopen()
    await project.durableRuns.resume()
    await eventually(() => expect(received).to.have.lengthOf(1))
  })

  for (const damage of ['{"half', 'null', '{"version":99}'])
    it(`arrive while the rows of ten others are ${damage}`, async () => {
      await open(hook(), { noWorker: true })
      const [{ id: hookId } = { id: '' }] = await readWebhooks(folder.dir, {})
      const { records } = (await project.durableRuns.open()).of('acme')
      const rows = Array.from({ length: 10 }, (_, ms) => `resp_lost:1${timeKey(ms)}00000000:${hookId}`)
      for (const [ms, row] of rows.entries())
        await records.commit([
          [`delivery-due:${hookId}:${timeKey(ms)}:${row}`, '1'],
          [`delivery:${row}`, damage],
        ])
      await project.close()
      project = await reopen()
      const id = await ask('hello')
      await eventually(() => expect(told()).to.deep.equal([`response.completed ${id}`]))
      const left = project.durableRuns.opened.of('acme').records.list({ prefix: 'delivery:resp_lost', limit: 20 })
      // Another server may be able to read them.
      expect((await left).length).to.equal(damage.includes('version') ? 10 : 0)
    })

  it('of a response arrive while the row of an earlier one cannot be read', async () => {
    await open(hook())
    const id = await ask('pay Lima')
    await eventually(() => expect(told()).to.deep.equal([`response.waiting ${id}`]))
    await project.durableRuns.opened.records.commit([[`delivery:${id}:0`, 'null']])
    await project.runs.of('').cancel(id)
    await eventually(() => expect(told()).to.include(`response.cancelled ${id}`))
  })

  it('hold up no other receiver while one hangs or answers without end', async () => {
    answer = (path) => (path === '/hangs' ? undefined : path === '/endless' ? 200 : 204)
    await open(hook('', 'hangs') + hook('', 'endless') + hook('', 'good'))
    for (let count = 0; count < 20; count++) await ask('hello')
    await eventually(async () => {
      const left = await stored()
      expect(left.filter(({ shown }) => !shown.endsWith('/hangs'))).to.deep.equal([])
    })
    expect((await stored()).length).to.equal(20)
  })

  it('follow no redirect, and reach no address that is not public', async () => {
    answer = () => 302
    await open(hook())
    await ask('hello')
    await eventually(async () => expect((await stored())[0]).to.include({ tries: 1, error: 'It answered 302.' }))
    await project.close()
    project = await reopen({ webhookAllowPrivate: false })
    await ask('hello')
    await eventually(async () =>
      expect((await stored()).map(({ error }) => error)).to.include(
        '127.0.0.1 is not public. --webhook-allow-private allows such addresses.',
      ),
    )
  })

  it('are tried ten times in 24 hours, then dead, and removed after a week', async () => {
    answer = () => 500
    await open(hook(), { noWorker: true })
    const runs = await project.durableRuns.open()
    let nowMs = Date.now()
    const hooks = new FollowedWebhooks(folder.dir, { error: () => {} })
    await hooks.follow(() => {})
    closing.push(async () => hooks.close())
    const fail = (error: unknown) => {
      throw error
    }
    const made = new WebhookSender({
      records: runs.records,
      hooks,
      allowPrivate: true,
      unreadable: runs.unreadable,
      onFailure: fail,
      now: () => nowMs,
    })
    closing.push(() => made.stop())
    const other = await reopen({ noWorker: false, projectDir: folder.dir })
    await other.durableRuns.open()
    await folder.write('webhooks.yml', `webhooks:\n${hook()}`)
    project = other
    const began = nowMs
    await ask('hello')
    await eventually(async () => expect((await stored())[0]?.tries).to.equal(1))
    await other.close()
    project = await reopen({ noWorker: true })
    await project.durableRuns.open()
    for (let tries = 2; tries <= 10; tries++) {
      nowMs = ((await stored())[0]?.dueMs ?? 0) + 1
      made.look()
      await eventually(async () => expect((await stored())[0]?.tries).to.equal(tries))
    }
    expect([(await stored())[0]?.isDead, nowMs - began < 24 * 3_600_000]).to.deep.equal([true, true])
    nowMs += 7 * 24 * 3_600_000 + 1000
    made.look()
    await eventually(async () => expect(await stored()).to.deep.equal([]))
    expect(received).to.have.lengthOf(10)
  })

  it('of a webhook that is in no file any more are dead after a day', async () => {
    answer = () => 500
    await open(hook())
    await ask('hello')
    await eventually(async () => expect((await stored())[0]?.tries).to.equal(1))
    await folder.write('webhooks.yml', 'webhooks: []')
    const { records, unreadable } = project.durableRuns.opened
    await expireDeliveries(records, unreadable, [], Date.now() + 25 * 3_600_000)
    expect((await stored())[0]).to.include({ isDead: true, error: 'No server has this webhook any more.' })
  })

  it('of a webhook that is in the file wait for days in which no server ran', async () => {
    await open(hook(), { noWorker: true })
    const { records } = await project.durableRuns.open()
    const [{ id = '' } = {}] = await readWebhooks(folder.dir, {})
    const dueMs = Date.now() - 3 * 24 * 3_600_000
    const waits = {
      version: 1,
      id: 'evt_x',
      type: 'response.completed',
      subject: 'resp_x',
      shown: '',
      tries: 0,
    } as const
    // The sweep at the start comes to the webhook that is gone last.
    for (const hook of [id, 'gone'])
      await records.commit(
        putDelivery(`delivery:resp_x:1${timeKey(0)}00000000:${hook}`, {
          ...waits,
          hook,
          createdMs: dueMs,
          dueMs,
          isDead: false,
        }),
      )
    await project.close()
    project = await reopen({ noWorker: true })
    await project.durableRuns.open()
    const dead = async () => (await stored()).filter(({ isDead }) => isDead).map(({ hook }) => hook)
    await eventually(async () => expect(await dead()).to.include('gone'))
    expect(await dead()).to.deep.equal(['gone'])
  })

  it('are followed live, and the last good version stays', async () => {
    await open('')
    await ask('hello')
    await folder.write('webhooks.yml', `webhooks:\n${hook()}`)
    await eventually(async () => {
      await ask('hello')
      expect(received.length).to.be.above(0)
    })
    await folder.write('webhooks.yml', 'webhooks: {')
    const before = received.length
    await eventually(async () => {
      await ask('hello')
      expect(received.length).to.be.above(before + 2)
    })
  })

  describe('of a server', () => {
    const build = async (webhooks: string, options: object = {}) => {
      folder = await makeProject({ ...CLIENT_TOOLS_PROJECT, 'webhooks.yml': webhooks })
      const server = await buildServer({
        projectDir: folder.dir,
        logLevel: 'silent',
        webhookAllowPrivate: true,
        ...options,
      })
      closing.push(() => server.close())
      return server
    }

    it('that are wrong end its start, with file, line and what to write', async () => {
      const wrong = `webhooks:\n  - { url: "ftp://a.example", secret: "${SECRET}", events: [response.failed] }`
      for (const options of [{ adapters: ['ChatCompatApiAdapter'] }, { workerOnly: true }, { noWorker: true }]) {
        const error = await build(wrong, options).catch((error) => error)
        expect([error.code, error.message]).to.deep.equal([
          'OPTION_INVALID',
          'webhooks.yml:2:7: url must be an http or https address, without a name and password.',
        ])
      }
    })

    it('that break later stay as they were, also before the first run, and /readyz says so until they are mended', async () => {
      const { app } = await build(`webhooks:\n${hook()}`, { adapters: ['ResponsesCompatApiAdapter'] })
      const readiness = async () => (await app.inject('/readyz')).json()
      expect(await readiness()).to.deep.equal({ status: 'ok' })
      await folder.write('webhooks.yml', `webhooks:\n${hook(', tenant: a', 'wrong')}`)
      const detail = 'webhooks.yml cannot be used as it is now. Its last good version is in use.'
      await eventually(async () => expect(await readiness()).to.deep.equal({ status: 'ok', detail }), 5000)
      await app.inject({ method: 'POST', url: '/compat/responses', payload: { model: 'tools', input: 'hello' } })
      await eventually(() => expect(received).to.have.lengthOf(1))
      expect(await readiness()).to.deep.equal({ status: 'ok', detail })
      await folder.write('webhooks.yml', `webhooks:\n${hook()}`)
      await eventually(async () => expect(await readiness()).to.deep.equal({ status: 'ok' }), 5000)
      await rm(`${folder.dir}/webhooks.yml`)
      await eventually(async () => expect(await readiness()).to.deep.equal({ status: 'ok', detail }), 5000)
      await app.inject({ method: 'POST', url: '/compat/responses', payload: { model: 'tools', input: 'hello' } })
      await eventually(() => expect(received).to.have.lengthOf(2))
      await folder.write('webhooks.yml', `webhooks:\n${hook()}`)
      await eventually(async () => expect(await readiness()).to.deep.equal({ status: 'ok' }), 5000)
    })
  })

  it('send nothing of runs that are not stored, and nothing without the file', async () => {
    await open(hook())
    await project.host.run('tools', 'hello')
    await project.durableRuns.open()
    const id = await ask('hello')
    await eventually(() => expect(told()).to.deep.equal([`response.completed ${id}`]))
  })

  for (const [title, text, problem] of [
    [
      'a short secret',
      'webhooks: [{ url: "https://a.example", secret: short, events: [response.failed] }]',
      'secret has fewer than 16 characters.',
    ],
    [
      'a secret with white space',
      `webhooks: [{ url: "https://a.example", secret: "${SECRET} ", events: [response.failed] }]`,
      'secret has white space at an end.',
    ],
    [
      'a secret of another form',
      'webhooks: [{ url: "https://a.example", secret: abcdefghijklmnopq, events: [response.failed] }]',
      'secret must be whsec_ and Base64',
    ],
    [
      'a missing variable',
      'webhooks: [{ url: "https://a.example", secret: "${NOT_SET_HERE}", events: [response.failed] }]',
      "needs the environment variable 'NOT_SET_HERE'",
    ],
    [
      'an address that is none',
      `webhooks: [{ url: "ftp://a.example", secret: "${SECRET}", events: [response.failed] }]`,
      'url must be an http or https address',
    ],
    [
      'an address with a password',
      `webhooks: [{ url: "https://a:b@c.example", secret: "${SECRET}", events: [response.failed] }]`,
      'url must be an http or https address',
    ],
    [
      'an address of another webhook, written otherwise,',
      `webhooks: [${['https://a.example', 'https://A.example/'].map((url) => `{ url: "${url}", secret: "${SECRET}", events: [response.failed] }`)}]`,
      'Another webhook has this address: list its events in one.',
    ],
    [
      'an unknown event',
      `webhooks: [{ url: "https://a.example", secret: "${SECRET}", events: [response.done] }]`,
      'response.completed',
    ],
    [
      'an unknown field',
      `webhooks: [{ url: "https://a.example", secret: "${SECRET}", events: [response.failed], tenant: a }]`,
      "tenant' is not known",
    ],
  ] as const)
    it(`name ${title} in the file, with its line`, async () => {
      const { dir } = await makeProject({ 'webhooks.yml': text })
      const error = await readWebhooks(dir, {}).catch((error: Error) => error)
      expect(String(error))
        .to.contain(problem)
        .and.to.match(/webhooks\.yml:1:\d+/)
      expect(String(error)).to.not.contain(SECRET.slice(6))
    })
})
