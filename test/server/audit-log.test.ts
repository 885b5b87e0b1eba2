import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openProject, type ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { buildServer } from '../../src/server/server.ts'
import { AUDITED_FILES, auditLines, CANARY, eventsOf, TRIGGER, washed } from '../support/audit.ts'
import { eventually } from '../support/eventually.ts'
import { Issuer } from '../support/issuer.ts'
import { openSocket } from '../support/response-socket.ts'
import type { Json } from '../support/responses.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'
import { keysFile, Visitor } from '../support/tenant-visitor.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'TriggersAdapter']
const SECRET_KEY = 'a secret key of more than 32 characters'

describe('the audit log of a server', () => {
  afterEach(async () => {
    await closeServers()
    washed().length = 0
  })

  async function open(options: Partial<ServerOptions> = {}) {
    const own = { adapters: ADAPTERS, auditLog: 'audit.jsonl', keys: 'keys.yml', secretKey: SECRET_KEY }
    const server = await makeServer({ ...own, ...options }, AUDITED_FILES)
    const url = await server.listen()
    const path = join(server.project.dir, 'audit.jsonl')
    const visitor = (name: string) => new Visitor(url, 'acme', name)
    const ready = async () => (await fetch(`${url}/readyz`)).status
    return { ...server, url, path, ada: visitor('ada'), eve: visitor('eve'), ready, lines: () => auditLines(path) }
  }

  const respond = (visitor: Visitor, model: string, more = {}) =>
    visitor.ask('POST', '/v1/responses', { model, input: CANARY, ...more })
  const inbox = async (visitor: Visitor) => (await visitor.ask('GET', '/v1/approvals')).json.data as Json[]
  const rpc = (visitor: Visitor, name: string) =>
    visitor.ask('POST', '/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { message: CANARY } },
    })

  it('says who did what, in the order of the acts: run, decision, call; and no content', async () => {
    // The recorder of tapes stands at the same calls.
    const { ada, path, lines, project } = await open({ record: 1 })
    expect((await respond(ada, 'shop')).status).to.equal(200)
    const [{ id, arguments: args }] = (await inbox(ada)) as [Json]
    expect(args).to.deep.equal({ amount: 40, to: CANARY })
    await ada.ask('POST', `/v1/approvals/${id}`, { decision: 'approve', reason: CANARY })
    await eventually(() => expect(eventsOf(lines(), 'run_end')).to.have.length(2))
    const acts = eventsOf(lines(), 'run_begin', 'run_end', 'tool_call', 'decision')
    const [first, , decision, second, call] = acts as [Json, Json, Json, Json, Json]
    expect(acts.map(({ event, status }) => [event, status ?? null])).to.deep.equal([
      ['run_begin', null],
      ['run_end', 'waiting'],
      ['decision', 'approved'],
      ['run_begin', null],
      ['tool_call', null],
      ['run_end', 'completed'],
    ])
    const who = { address: '127.0.0.1', key: 'ada', tenant: 'acme', agent: 'shop' }
    for (const line of acts) expect(line).to.include(who)
    expect(first.request_id).to.match(/\S/)
    expect(decision).to.include({ run_id: first.run_id, approval: id, tool: 'pay', by: 'ada' })
    expect(decision.request_id).to.not.equal(first.request_id)
    expect(second.continues).to.equal(first.run_id)
    expect(call).to.include({ run_id: second.run_id, module: 'tools', tool: 'pay', arguments: decision.arguments })
    expect(call.arguments).to.match(/^[0-9a-f]{64}$/)
    expect(new Date(call.time).toISOString()).to.equal(call.time)
    expect(readdirSync(project.path('debug/tapes'))).to.not.deep.equal([])
    const text = readFileSync(path, 'utf8')
    for (const secret of [CANARY, 'key-of-ada', SECRET_KEY]) expect(text).to.not.include(secret)
  })

  it('covers every door: chat, MCP, WebSockets, triggers, background runs', async () => {
    const { ada, url, lines } = await open()
    const { socket, ask } = await openSocket(url, ada.headers)
    await ada.ask('POST', '/v1/chat/completions', chat('cleaner', CANARY))
    await rpc(ada, 'cleaner')
    await ask({ model: 'cleaner', input: CANARY })
    socket.close()
    const headers = { authorization: `Bearer ${TRIGGER}`, 'idempotency-key': '1' }
    const sent = await ada.ask('POST', '/triggers/clerk/hook', { say: CANARY }, headers)
    expect(sent.status).to.equal(202)
    await respond(ada, 'cleaner', { background: true })
    await eventually(() => expect(eventsOf(lines(), 'run_end')).to.have.length(5))
    const calls = eventsOf(lines(), 'tool_call')
    expect(calls.map(({ agent }) => agent).sort()).to.deep.equal(['cleaner', 'cleaner', 'cleaner', 'cleaner', 'clerk'])
    // A run in the background is tied to its request by the line before.
    expect(calls.filter(({ key }) => key === 'ada')).to.have.length(4)
    const queued = eventsOf(lines(), 'run_queued')
    expect(queued.map(({ key, tenant }) => [key, tenant])).to.deep.equal([
      ['ada', 'acme'],
      ['ada', 'acme'],
    ])
    const begun = new Set(eventsOf(lines(), 'run_begin').map(({ run_id }) => run_id))
    for (const { run_id, request_id } of queued)
      expect([begun.has(run_id), typeof request_id]).to.deep.equal([true, 'string'])
    expect(JSON.stringify(lines())).to.not.include(CANARY)
  })

  it('tells refusals: a wrong key, a scope, a limit, also of MCP and of a WebSocket', async () => {
    const { ada, eve, url, lines } = await open()
    await new Visitor(url, 'acme', 'nobody-canary').ask('POST', '/v1/chat/completions', chat('echo', CANARY))
    await respond(ada, 'shop')
    const [{ id }] = (await inbox(ada)) as [Json]
    await eve.ask('POST', `/v1/approvals/${id}?secret=${CANARY}`, { decision: 'approve' })
    await respond(eve, 'echo')
    await respond(eve, 'echo')
    await rpc(eve, 'echo')
    const { socket, ask } = await openSocket(url, eve.headers)
    await ask({ model: 'echo', input: CANARY })
    socket.close()
    const facts = eventsOf(lines(), 'refusal').map(({ status, method, route, key }) => [
      status,
      method,
      route,
      key ?? null,
    ])
    expect(facts).to.deep.equal([
      [401, 'POST', '/v1/chat/completions', null],
      [403, 'POST', '/v1/approvals/:id', 'eve'],
      [429, 'POST', '/v1/responses', 'eve'],
      [429, 'POST', '/mcp', 'eve'],
      [429, 'GET', '/v1/responses', 'eve'],
    ])
    expect(JSON.stringify(lines())).to.not.include('canary')
  })

  it('names the subject of a token', async () => {
    const issuer = await Issuer.start()
    try {
      const { url, lines, path } = await open({ jwtIssuer: issuer.url, jwtAudience: 'agents', keys: undefined })
      const token = await issuer.sign({ sub: 'grace' })
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(chat('cleaner', 'hi')),
      })
      expect(reply.status).to.equal(200)
      for (const line of eventsOf(lines(), 'run_begin', 'tool_call', 'run_end')) expect(line.key).to.equal('jwt:grace')
      expect(readFileSync(path, 'utf8')).to.not.include(token)
    } finally {
      await issuer.close()
    }
  })

  it('tells the agents and keys that there are, and how they change', async () => {
    const { project, watch, lines } = await open()
    await watch()
    const names = (event: 'agent' | 'key', change: string) =>
      eventsOf(lines(), event).flatMap((line) => (line.change === change ? [line[event]] : []))
    expect(names('agent', 'added')).to.include.members(['cleaner', 'shop'])
    expect(names('key', 'added')).to.deep.equal(['ada', 'eve'])
    await project.write('agents/cleaner.yml', `${AUDITED_FILES['agents/cleaner.yml']}\ndescription: Other`)
    await project.remove('agents/clerk.yml')
    await project.write('keys.yml', keysFile([{ name: 'ada', tenant: 'acme', scopes: ['run'] }]))
    await eventually(() => {
      expect([names('agent', 'changed'), names('agent', 'removed')]).to.deep.equal([['cleaner'], ['clerk']])
      expect([names('key', 'changed'), names('key', 'removed')]).to.deep.equal([['ada'], ['eve']])
    })
  })

  it('names a key that is removed at once, although the rest of the file cannot be used', async () => {
    const { project, lines, eve } = await open({ mcpApiKey: 'key-of-bob' })
    const keys = [
      { name: 'ada', tenant: 'acme', scopes: ['run'] },
      { name: 'bob', tenant: 'acme', scopes: ['run'] },
    ]
    await project.write('keys.yml', keysFile(keys))
    await eventually(() => {
      const changes = eventsOf(lines(), 'key').map(({ key, change }) => `${key} ${change}`)
      expect(changes).to.deep.equal(['ada added', 'eve added', 'eve removed'])
    })
    expect((await eve.ask('GET', '/v1/models')).status).to.equal(401)
  })

  for (const [what, block] of [
    ['a folder in its place', (path: string) => mkdirSync(path)],
    ['a full disk', (path: string) => symlinkSync('/dev/full', path)],
  ] as const) {
    it(`refuses calls and decisions while it cannot be written: ${what}`, async () => {
      const { ada, path, ready, lines } = await open()
      await respond(ada, 'shop')
      const [{ id }] = (await inbox(ada)) as [Json]
      const decide = () => ada.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })
      const clean = async () => (await ada.ask('POST', '/v1/chat/completions', chat('cleaner', 'hi'))).json
      expect(await ready()).to.equal(200)
      renameSync(path, `${path}.1`)
      block(path)

      const refused = await decide()
      expect([refused.status, refused.json.error.message]).to.deep.equal([
        503,
        'The audit log cannot be written: nothing was done',
      ])
      expect(await ready()).to.equal(503)
      expect((await clean()).choices[0].message.content).to.equal('AUDIT_UNAVAILABLE')
      expect([washed(), (await inbox(ada)).map((approval) => approval.status)]).to.deep.equal([[], ['pending']])

      rmSync(path, { recursive: true })
      expect(await ready()).to.equal(200)
      const [gap] = lines() as [Json]
      expect([gap.event, gap.missed > 0]).to.deep.equal(['gap', true])
      expect((await decide()).status).to.equal(200)
      expect((await clean()).choices[0].message.content).to.equal('washed')
      expect(eventsOf(lines(), 'decision')).to.have.length(1)
    })
  }

  it('must be writable at the start', async () => {
    const { dir } = await makeProject(AUDITED_FILES)
    mkdirSync(join(dir, 'audit.jsonl'))
    const error = await buildServer({ projectDir: dir, auditLog: 'audit.jsonl', logLevel: 'silent' }).catch(
      (thrown) => thrown,
    )
    expect([error.code, error.message]).to.deep.equal([
      'OPTION_INVALID',
      `--audit-log: ${join(dir, 'audit.jsonl')} cannot be written: EISDIR: illegal operation on a directory, open '${join(dir, 'audit.jsonl')}'.`,
    ])
  })

  it('is written by a program that opens the project, too', async () => {
    const { dir } = await makeProject(AUDITED_FILES)
    const project = await openProject({ projectDir: dir, auditLog: 'audit.jsonl', logLevel: 'silent', drainTimeout: 0 })
    try {
      expect((await project.run('cleaner', CANARY)).text).to.equal('washed')
      const waiting = await project.run('shop', 'pay')
      await project.resume(waiting.runId, [
        { callId: waiting.pending[0]?.callId ?? '', kind: 'approval', decision: 'reject' },
      ])
    } finally {
      await project.close()
    }
    const events = auditLines(join(dir, 'audit.jsonl')).flatMap(({ event, status }) =>
      event === 'agent' ? [] : [[event, status]],
    )
    expect(events.map((each) => each.filter(Boolean).join(' '))).to.deep.equal([
      'start',
      'run_begin',
      'tool_call',
      'run_end completed',
      'run_begin',
      'run_end waiting',
      'decision rejected',
      'run_begin',
      'run_end completed',
    ])
  })

  it('is not there where none is named', async () => {
    const { ada, project } = await open({ auditLog: undefined })
    await ada.ask('POST', '/v1/chat/completions', chat('cleaner', 'hi'))
    writeFileSync(project.path('other.txt'), '')
    expect(readdirSync(project.dir).filter((file) => file.includes('audit'))).to.deep.equal([])
  })
})
