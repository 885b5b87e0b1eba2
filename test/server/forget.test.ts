import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { openStore } from '../../src/store/open-store.ts'
import { walkStore } from '../../src/store/walk-store.ts'
import type { ForgetQuery } from '../../src/trace/run-index/trace-query.ts'
import { Traces } from '../../src/trace/traces.ts'
import { callCli } from '../support/call-cli.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { FORGET_KEYS, FORGET_OPTIONS, FORGET_PROJECT, filesWith, sayEverywhere } from '../support/forget-walk.ts'
import { openSocket } from '../support/response-socket.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { Visitor } from '../support/tenant-visitor.ts'

const [ADA, BOB, EVE] = ['ada-canary-4711', 'bob-canary-0815', 'eve-canary-0042'] as const
const FILES = {
  ...FORGET_PROJECT,
  'keys.yml': FORGET_KEYS,
  'agents/late.yml': 'id: late\nmodules: [{ id: tools, module: late }, { id: main, module: ask-late }]',
  'modules/ask-late.ts': `import { defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'AskLate', provides: [TextMessageHandler], uses: { tools: ToolProvider },
  create: ({ tools }) => ({ handleText: (text, run) => tools.executeTool('late', { text }, run) }) })`,
  'agents/hold.yml': 'id: hold\nmodules: [{ id: main, module: hold }]',
  'modules/hold.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Hold', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await new Promise((resolve) => { globalThis.endLate = resolve })
    await response.respondText('held')
  } }) })`,
  'agents/keep.yml': 'id: keep\nmodules: [{ id: main, module: keep }]',
  'modules/keep.ts': `import { defineModule, Storage, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Keep', provides: [TextMessageHandler], uses: { storage: Storage },
  create: ({ storage }) => ({ async handleText(text, run) {
    await new Promise((resolve) => { globalThis.endLate = resolve })
    const failures = []
    const attempt = (what, write) => write().catch((error) => failures.push(what + ': ' + error.message))
    await attempt('set', () => storage.set('a', { text }, run))
    await attempt('append', () => storage.append('log', { text }, run))
    await attempt('replace', () => storage.replace('b', undefined, { text }, run))
    globalThis.lateFailures = failures
  } }) })`,
  'modules/late.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Late', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'late', description: '', parameters: { type: 'object' } }],
  executeTool: async (name, { text }) => {
    await new Promise((resolve) => { globalThis.endLate = resolve })
    return { success: true, result: 'heard ' + text }
  } }) })`,
}

async function open(more: object = {}) {
  const server = await makeServer({ ...FORGET_OPTIONS, ...more }, FILES)
  const url = await server.listen()
  return { ...server, acme: new Visitor(url, 'acme', 'acme'), nobody: new Visitor(url, '', 'nobody'), url }
}

type Said = Awaited<ReturnType<typeof sayEverywhere>>

async function expectThere(visitor: Visitor, { responses, conversation }: Said, word: string): Promise<void> {
  for (const id of responses) expect((await visitor.ask('GET', `/v1/responses/${id}`)).status).to.equal(200)
  expect((await visitor.ask('GET', `/v1/conversations/${conversation}/items`)).body).to.include(word)
}

describe('data of one user', () => {
  afterEach(closeServers)

  it('is in no file once it is forgotten, and their runs have ended; others keep theirs', async () => {
    const { acme, nobody, project } = await open()
    const ada = await sayEverywhere(acme, 'ada', ADA)
    const bob = await sayEverywhere(acme, 'bob', BOB)
    const other = await sayEverywhere(nobody, 'ada', EVE)
    expect(filesWith(project.dir, ADA).length).to.be.greaterThan(10)
    const { status, json } = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([status, json]).to.deep.equal([
      200,
      {
        object: 'user.forgotten',
        user: 'ada',
        runs_ended: 2,
        responses: 9,
        conversations: 1,
        memories: 5,
        records: 6,
        traces: 13,
        tapes: json.tapes,
        left: [],
      },
    ])
    expect((await ada.leaving).status).to.equal(503)
    expect(filesWith(project.dir, ADA)).to.deep.equal([])
    await expectThere(acme, bob, BOB)
    await expectThere(nobody, other, EVE)
    const again = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([again.json.responses, again.json.memories, again.json.traces, again.json.tapes]).to.deep.equal([0, 0, 0, 0])
  }).timeout(120_000)

  it('does not come back into the traces with a tool that ends after its run, ended by this or before', async () => {
    const { acme, url, project } = await open()
    const shared = globalThis as { endLate?: () => void }
    const askLate = async (signal?: AbortSignal) => {
      delete shared.endLate
      const body = JSON.stringify({ model: 'late', user: 'ada', messages: [{ role: 'user', content: ADA }] })
      const headers = { ...acme.headers, 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body, ...(signal && { signal }) }
      const asked = fetch(`${url}/v1/chat/completions`, init).catch(() => undefined)
      return { asked, endLate: await eventually(() => shared.endLate ?? expect.fail('no tool yet')) }
    }
    const leaving = new AbortController()
    const before = await askLate(leaving.signal)
    leaving.abort()
    await eventually(async () => {
      const { data } = await acme.graphql('{ runs { runs { status } } }')
      expect(data.runs.runs).to.deep.equal([{ status: 'cancelled' }])
    })
    const { asked, endLate } = await askLate()
    const { json } = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([json.runs_ended, json.traces, (await asked)?.status]).to.deep.equal([1, 2, 503])
    before.endLate()
    endLate()
    // By then they have spoken.
    await acme.ask('POST', '/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content: BOB }] })
    await acme.graphql('{ runs { runs { status } } }')
    expect(filesWith(project.path('debug'), ADA)).to.deep.equal([])
    expect(filesWith(project.path('debug'), BOB).length).to.be.greaterThan(0)
  })

  it('does not come back into the store with code that goes on after its run', async () => {
    const { acme, url, project } = await open()
    const shared = globalThis as { endLate?: () => void }
    delete shared.endLate
    const body = JSON.stringify({ model: 'keep', user: 'ada', messages: [{ role: 'user', content: ADA }] })
    const headers = { ...acme.headers, 'content-type': 'application/json' }
    const asked = fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    const endLate = await eventually(() => shared.endLate ?? expect.fail('not asked yet'))
    expect((await acme.ask('POST', '/forget', { user: 'ada' })).json.runs_ended).to.equal(1)
    expect((await asked).status).to.equal(503)
    const told = ['set', 'append', 'replace'].map((what) => `${what}: The data of its user is deleted.`)
    endLate()
    await eventually(() => expect((globalThis as { lateFailures?: string[] }).lateFailures).to.deep.equal(told))
    expect(filesWith(project.dir, ADA)).to.deep.equal([])
  })

  it('goes by a command, too: after a stop of the server', async () => {
    const { acme, nobody, project } = await open()
    await sayEverywhere(nobody, ADA, ADA)
    await sayEverywhere(acme, ADA, BOB)
    await closeServers()
    const { exitCode, stdout, stderr } = await callCli(['store', 'forget', '--user', ADA], { cwd: project.dir })
    expect([exitCode, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.match(/^ +0 {2}runs ended\n +9 {2}responses\n +1 {2}conversations\n +5 {2}memories\n/)
    expect(
      (await callCli(['store', 'forget', '--user', ADA, '--tenant', 'acme'], { cwd: project.dir })).exitCode,
    ).to.equal(0)
    expect([...filesWith(project.dir, ADA), ...filesWith(project.dir, BOB)]).to.deep.equal([])
  }).timeout(120_000)

  it('is deleted beside a record that is damaged: each answer names that, with the counts of what went', async () => {
    const { nobody, project } = await open()
    await nobody.ask('POST', '/v1/responses', { model: 'echo', input: ADA, user: 'ada' })
    const store = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    await store.commit([['module:notes:1', '{"user":"ada"']])
    await store.close()
    const detail = "The record 'module:notes:1' is damaged, and says the name. Look at it."
    for (const responses of [1, 0]) {
      const { status, json } = await nobody.ask('POST', '/forget', { user: 'ada' })
      expect([status, json.responses, json.left, json.detail]).to.deep.equal([503, responses, [detail], detail])
    }
  })

  it('is taken out of a turn that another user has continued', async () => {
    const { acme, project } = await open()
    const respond = async (user: string, input: string, previous_response_id?: string) =>
      (await acme.ask('POST', '/v1/responses', { model: 'echo', user, input, previous_response_id })).json.id
    const first = await respond('bob', BOB)
    const second = await respond('ada', ADA, first)
    const third = await respond('bob', BOB, second)
    expect((await acme.ask('POST', '/forget', { user: 'ada' })).status).to.equal(200)
    expect(filesWith(project.path('responses'), ADA)).to.deep.equal([])
    expect((await acme.ask('GET', `/v1/responses/${second}`)).status).to.equal(404)
    const next = await respond('bob', 'more', third)
    expect((await acme.ask('GET', `/v1/responses/${next}`)).json.output[0].content[0].text).to.equal('more')
    expect((await acme.ask('DELETE', `/v1/responses/${next}`)).status).to.equal(200)
  })

  /** Asks for a response of an agent that waits, and leaves it at that. */
  async function begin(visitor: Visitor, body: object) {
    const shared = globalThis as { endLate?: () => void }
    delete shared.endLate
    const asked = visitor.ask('POST', '/v1/responses', body)
    return { asked, end: await eventually(() => shared.endLate ?? expect.fail('not asked yet')) }
  }

  it('comes back with no run that goes on from theirs at that moment: one of another user goes on without it', async () => {
    const { acme, project } = await open()
    const said = { model: 'echo', user: 'ada', input: ADA }
    const { id: previous_response_id } = (await acme.ask('POST', '/v1/responses', said)).json
    const next = { model: 'hold', input: BOB, previous_response_id }
    const [unnamed, ofBob] = [await begin(acme, next), await begin(acme, { ...next, user: 'bob' })]
    const { status, json } = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([status, json.left]).to.deep.equal([200, []])
    for (const { end } of [unnamed, ofBob]) end()
    expect((await unnamed.asked).json.status).to.not.equal('completed')
    const { json: stored } = await ofBob.asked
    expect(stored.status).to.equal('completed')
    expect(filesWith(project.path('responses'), ADA)).to.deep.equal([])
    const more = { model: 'echo', user: 'bob', input: 'more', previous_response_id: stored.id }
    expect((await acme.ask('POST', '/v1/responses', more)).json.status).to.equal('completed')
  })

  it('is in no response that a WebSocket can continue, whoever has continued it meanwhile', async () => {
    const { acme, nobody, url } = await open()
    const [socket, other] = [await openSocket(url, acme.headers), await openSocket(url, nobody.headers)]
    const say = async ({ ask }: typeof socket, more: object) => {
      const last = (await ask({ model: 'probe', store: false, input: 'facts', ...more })).at(-1)
      return last.response?.id ?? last.error.code
    }
    const stored = await say(socket, { user: 'ada', input: ADA, store: true })
    const theirs = [await say(socket, { user: 'ada', input: ADA })]
    theirs.push(await say(socket, { previous_response_id: theirs[0] }))
    theirs.push(await say(socket, { user: 'bob', previous_response_id: theirs[1] }))
    theirs.push(await say(socket, { previous_response_id: stored }))
    const [ofBob, ofOther] = [await say(socket, { user: 'bob' }), await say(other, { user: 'ada' })]
    const { status, json } = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([status, json.responses, json.records]).to.deep.equal([200, 1, theirs.length])
    for (const previous_response_id of theirs)
      expect(await say(socket, { previous_response_id })).to.equal('previous_response_not_found')
    expect(await say(socket, { previous_response_id: ofBob })).to.match(/^resp_/)
    expect(await say(other, { previous_response_id: ofOther })).to.match(/^resp_/)
    expect((await acme.ask('POST', '/forget', { user: 'ada' })).json.records).to.equal(0)
    for (const each of [socket, other]) each.socket.close()
  })

  it('goes with all that a decision meanwhile has go on', async () => {
    const { acme, project } = await open()
    for (let round = 0; round < 12; round++) {
      const body = { model: 'shop', input: `${ADA} ${round}`, user: 'ada', background: round % 2 === 0 }
      const { id } = (await acme.ask('POST', '/v1/responses', body)).json
      const waiting = async () => (await acme.ask('GET', '/v1/approvals')).json.data
      await eventually(async () => expect(await waiting()).to.have.length(1))
      const [approval] = await waiting()
      const [forgotten, decided] = await Promise.all([
        acme.ask('POST', '/forget', { user: 'ada' }),
        // Each round a little later.
        wait(round * 2).then(() => acme.ask('POST', `/v1/approvals/${approval.id}`, { decision: 'approve' })),
      ])
      expect(forgotten.status).to.equal(200)
      expect([200, 404, 409]).to.include(decided.status)
      for (const left of [id, decided.json.continued_by]) {
        if (left) expect((await acme.ask('GET', `/v1/responses/${left}`)).status).to.equal(404)
      }
      expect(await waiting()).to.deep.equal([])
    }
    expect(filesWith(project.dir, ADA)).to.deep.equal([])
  }).timeout(120_000)

  for (const [what, ask, status, detail] of [
    ['no scope', { key: 'ci', body: { user: 'ada' } }, 403, "The key 'ci' lacks the scope 'forget'"],
    ['no user', { body: { user: '' } }, 400, 'user'],
    ['another tenant', { body: { user: 'ada', tenant: 'other' } }, 400, 'tenant'],
    ['a page of another site', { body: { user: 'ada' }, origin: 'https://evil.example' }, 403, 'delete data'],
    ['a wrong key', { key: 'wrong', body: { user: 'ada' } }, 401, 'Invalid API key'],
  ] as const) {
    it(`stays for a request with ${what}`, async () => {
      const { listen, project } = await makeServer(FORGET_OPTIONS, FILES)
      const url = await listen()
      const acme = new Visitor(url, 'acme', 'acme')
      await acme.ask('POST', '/v1/responses', { model: 'echo', input: ADA, user: 'ada' })
      const { key = 'acme', body, origin }: { key?: string; body: object; origin?: string } = ask
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      const answer = await new Visitor(url, 'acme', key).ask('POST', '/forget', body, headers)
      expect([answer.status, answer.body]).to.satisfy(
        ([got, text]: [number, string]) => got === status && text.includes(detail),
      )
      expect(filesWith(project.dir, ADA)).to.not.deep.equal([])
    })
  }

  it('has no route on a server without a file of keys', async () => {
    const { app } = await makeServer({})
    expect((await app.inject({ method: 'POST', url: '/forget', payload: { user: 'ada' } })).statusCode).to.equal(404)
  })
})

for (const { name, isThere, start } of [
  { name: 'PostgreSQL', isThere: hasPostgres(), start: startPostgres },
  { name: 'Redis', isThere: hasRedis(), start: startRedis },
]) {
  describeWith(name, isThere, `data of one user in ${name}`, () => {
    let server: StoreServer

    before(async () => {
      server = await start()
    })
    afterEach(closeServers)
    after(() => server?.remove())

    it('is in no record, and in no file of any of the servers', async () => {
      const [one, two] = [
        await open({ store: server.url, serverName: 'one' }),
        await open({ store: server.url, serverName: 'two' }),
      ]
      await sayEverywhere(one.acme, 'ada', ADA)
      const { leaving } = await sayEverywhere(two.acme, 'ada', ADA)
      const bob = await sayEverywhere(two.acme, 'bob', BOB)
      const { json } = await one.acme.ask('POST', '/forget', { user: 'ada' })
      expect([json.left, json.runs_ended]).to.deep.equal([[], 4])
      expect((await leaving).status).to.equal(503)
      expect([...filesWith(one.project.dir, ADA), ...filesWith(two.project.dir, ADA)]).to.deep.equal([])
      const store = await openStore({ store: server.url, dir: '/', projectDir: '/' })
      const left: string[] = []
      for await (const page of walkStore(store)) left.push(...page.map(String).filter((text) => text.includes(ADA)))
      await store.close()
      expect(left).to.deep.equal([])
      await expectThere(one.acme, bob, BOB)
    }).timeout(120_000)

    it('does not come back with a run that is published meanwhile', async () => {
      const { acme } = await open({ store: server.url, serverName: 'one' })
      const store = await openStore({ store: server.url, dir: '/', projectDir: '/' })
      const published = async () => {
        const found: string[] = []
        for await (const page of walkStore(store, 'trace-runs:')) found.push(...page.map(String))
        return found.filter((text) => text.includes(EVE))
      }
      const { query } = Traces.prototype
      try {
        const respond = async (body: object) =>
          (await acme.ask('POST', '/v1/responses', { model: 'echo', ...body })).json.id
        const id = await respond({ input: ADA, user: 'ada' })
        Traces.prototype.query = async function (name, argument) {
          const isLast = name === 'forget' && (argument as ForgetQuery).runIds.length > 1
          if (isLast) await eventually(async () => expect(await published()).to.not.deep.equal([]))
          return query.call(this, name, argument) as never
        }
        // Found by what it goes on from alone: it names no user.
        await respond({ input: EVE, previous_response_id: id })
        expect((await acme.ask('POST', '/forget', { user: 'ada' })).json.left).to.deep.equal([])
        expect(await published()).to.deep.equal([])
      } finally {
        Traces.prototype.query = query
        await store.close()
      }
    }).timeout(120_000)
  })
}
