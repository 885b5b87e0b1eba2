import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { AUDITED_FILES, auditLines, CANARY, eventsOf, refused, TRIGGER, washed } from '../support/audit.ts'
import { eventually } from '../support/eventually.ts'
import type { Json } from '../support/responses.ts'
import { shopAgent } from '../support/shop.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'
import { Visitor } from '../support/tenant-visitor.ts'

const SCHEDULE = `schedules: [{ id: early, every: 1s, input: ${CANARY}, tenant: acme, key: ada }]`
const TRIGGERED = `triggers: [{ id: hook, secret: ${TRIGGER}, signature: bearer, tenant: acme, key: ada }]`
const CLEANER = AUDITED_FILES['agents/cleaner.yml']
const BY_KEY = { tenant: 'acme', key: 'ada' }

describe('the audit log of work that no client waits for', () => {
  const servers: BuiltServer[] = []
  let project: TempProject

  beforeEach(async () => {
    project = await makeProject(AUDITED_FILES)
  })

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()))
    for (const calls of [washed(), refused()]) calls.length = 0
  })

  async function serve(auditLog: string | undefined, options: Partial<ServerOptions> = {}) {
    const adapters = ['ResponsesCompatApiAdapter', 'TriggersAdapter']
    const own = { projectDir: project.dir, adapters, auditLog, keys: 'keys.yml', port: 0, drainTimeout: 0 }
    const server = await buildServer({ ...own, logLevel: 'silent', ...options })
    servers.push(server)
    await server.watch()
    const url = await server.listen()
    const ada = new Visitor(url, 'acme', 'ada')
    const ready = async () => (await fetch(`${url}/readyz`)).status
    return { ada, ready, path: project.path(auditLog ?? ''), lines: () => auditLines(project.path(auditLog ?? '')) }
  }

  const trigger = async (visitor: Visitor, agent: string) => {
    const headers = { authorization: `Bearer ${TRIGGER}`, 'idempotency-key': agent }
    const { status } = await visitor.ask('POST', `/triggers/${agent}/hook`, { say: CANARY }, headers)
    expect(status).to.equal(202)
  }
  const begin = async (visitor: Visitor): Promise<string> => {
    const body = { model: 'cleaner', input: CANARY, background: true }
    return (await visitor.ask('POST', '/v1/responses', body)).json.id
  }
  const answerOf = async (visitor: Visitor, id: string): Promise<string> => {
    const { json } = await visitor.ask('GET', `/v1/responses/${id}`)
    return json.output.flatMap(({ content = [] }: Json) => content.map(({ text }: Json) => text)).join('')
  }
  const approve = async (visitor: Visitor) => {
    const waiting = async () => (await visitor.ask('GET', '/v1/approvals')).json.data as Json[]
    await eventually(async () => expect(await waiting()).to.not.deep.equal([]))
    const [{ id }] = (await waiting()) as [Json]
    expect((await visitor.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })).status).to.equal(200)
  }
  const namesOf = (lines: Json[]) => lines.map(({ event, status }) => [event, status].filter(Boolean).join(' '))
  const block = (path: string) => {
    renameSync(path, `${path}.before`)
    mkdirSync(path)
  }

  it('has a line for each run, call and decision of a schedule, with the key that it names', async () => {
    const { ada, lines, path } = await serve('audit.jsonl', { schedules: true })
    const shop = shopAgent('shop', `{ name: pay, arguments: { amount: 40, to: ${CANARY} } }`)
    await project.write('agents/shop.yml', `${shop}\n${SCHEDULE}`)
    await project.write('agents/cleaner.yml', `${CLEANER}\n${SCHEDULE}`)
    await approve(ada)
    await eventually(() =>
      expect(
        lines().map(({ event, agent, tool }) => [event, agent, tool].join(' ')),
        'every line, to tell what has not begun',
      ).to.include.members(['tool_call cleaner wash', 'tool_call shop pay']),
    )
    const ofRun = (of: Json) => lines().filter(({ run_id, event }) => run_id === of.run_id && event !== 'run_queued')
    const [decision] = eventsOf(lines(), 'decision') as [Json]
    const [wash] = eventsOf(lines(), 'tool_call').filter(({ tool }) => tool === 'wash') as [Json]
    await eventually(() => expect(namesOf(ofRun(wash))).to.deep.equal(['run_begin', 'tool_call', 'run_end completed']))
    expect(namesOf(ofRun(decision))).to.deep.equal(['run_begin', 'run_end waiting', 'decision approved'])
    for (const line of [...ofRun(wash), ...ofRun(decision)]) expect(line).to.include(BY_KEY)
    for (const { run_id } of [wash, decision]) {
      const [queued] = eventsOf(lines(), 'run_queued').filter((line) => line.run_id === run_id) as [Json]
      expect(queued).to.include(BY_KEY)
      expect(queued).to.not.have.any.keys('request_id', 'address')
    }
    expect(readFileSync(path, 'utf8')).to.not.include(CANARY)
  })

  it('has a line for each run, call and decision of a trigger, with the key that it names', async () => {
    const shop = shopAgent('shop', `{ name: pay, arguments: { amount: 40, to: ${CANARY} } }`)
    await project.write('agents/shop.yml', `${shop}\n${TRIGGERED}`)
    await project.write('agents/cleaner.yml', `${CLEANER}\n${TRIGGERED}`)
    const { ada, lines, path } = await serve('audit.jsonl')
    for (const agent of ['cleaner', 'shop']) await trigger(ada, agent)
    await eventually(() => expect(eventsOf(lines(), 'run_end')).to.have.length(2))
    await approve(ada)
    await eventually(() => expect(eventsOf(lines(), 'run_end')).to.have.length(3))
    const of = (agent: string) => lines().filter((line) => line.agent === agent && line.event !== 'agent')
    expect(namesOf(of('cleaner'))).to.deep.equal(['run_begin', 'tool_call', 'run_end completed'])
    expect(namesOf(of('shop'))).to.deep.equal([
      'run_begin',
      'run_end waiting',
      'decision approved',
      'run_begin',
      'tool_call',
      'run_end completed',
    ])
    for (const line of [...of('cleaner'), ...of('shop')]) expect(line).to.include(BY_KEY)
    expect(eventsOf(lines(), 'run_queued').map(({ key, request_id }) => [key, typeof request_id])).to.deep.equal([
      ['ada', 'string'],
      ['ada', 'string'],
    ])
    expect(readFileSync(path, 'utf8')).to.not.include(CANARY)
  })

  it('refuses the calls of schedules and triggers while it cannot be written', async () => {
    await project.write('agents/cleaner.yml', `${CLEANER}\n${TRIGGERED}`)
    const { ada, lines, path, ready } = await serve('audit.jsonl', { schedules: true })
    block(path)
    await project.write('agents/timed.yml', `${CLEANER.replace('cleaner', 'timed')}\n${SCHEDULE}`)
    await trigger(ada, 'cleaner')
    await eventually(() => expect([...new Set(refused())].sort()).to.deep.equal(['cleaner', 'timed']))
    expect([washed(), await ready()]).to.deep.equal([[], 503])
    rmdirSync(path)
    expect(await ready()).to.equal(200)
    await eventually(() => expect(eventsOf(lines(), 'tool_call')).to.not.deep.equal([]))
    expect(lines()[0]).to.include({ event: 'gap' })
  })

  it('is written by a worker: the runs that it carries out, and their calls', async () => {
    const front = await serve('front.jsonl', { noWorker: true })
    const worker = await serve('worker.jsonl', { workerOnly: true, adapters: [], keys: undefined })
    const id = await begin(front.ada)
    await eventually(async () => expect(await answerOf(front.ada, id)).to.equal('washed'))
    await eventually(() => expect(eventsOf(worker.lines(), 'run_end')).to.have.length(1))
    const acts = eventsOf(worker.lines(), 'run_begin', 'tool_call', 'run_end')
    expect(namesOf(acts)).to.deep.equal(['run_begin', 'tool_call', 'run_end completed'])
    const [queued] = eventsOf(front.lines(), 'run_queued') as [Json]
    expect(queued).to.include(BY_KEY)
    for (const line of acts) expect(line).to.include({ tenant: 'acme', agent: 'cleaner', run_id: queued.run_id })
    expect(eventsOf(front.lines(), 'run_begin', 'tool_call')).to.deep.equal([])
    expect(readFileSync(worker.path, 'utf8')).to.not.include(CANARY)
  })

  it('refuses the calls of a worker that cannot write it, whose /readyz says so', async () => {
    const front = await serve('front.jsonl', { noWorker: true })
    const worker = await serve('worker.jsonl', { workerOnly: true, adapters: [], keys: undefined })
    block(worker.path)
    const id = await begin(front.ada)
    await eventually(async () => expect(await answerOf(front.ada, id)).to.equal('AUDIT_UNAVAILABLE'))
    expect([washed(), await worker.ready(), await front.ready()]).to.deep.equal([[], 503, 200])
    rmdirSync(worker.path)
    expect(await worker.ready()).to.equal(200)
    const again = await begin(front.ada)
    await eventually(async () => expect(await answerOf(front.ada, again)).to.equal('washed'))
    expect(worker.lines()[0]).to.include({ event: 'gap' })
  })

  it('is for each process to write: a worker without it calls tools without a line', async () => {
    const front = await serve('front.jsonl', { noWorker: true })
    await serve(undefined, { workerOnly: true, adapters: [], keys: undefined })
    const id = await begin(front.ada)
    await eventually(async () => expect(await answerOf(front.ada, id)).to.equal('washed'))
    expect(namesOf(eventsOf(front.lines(), 'run_queued', 'run_begin', 'tool_call'))).to.deep.equal(['run_queued'])
    expect(readdirSync(project.dir).filter((file) => file.endsWith('.jsonl'))).to.deep.equal(['front.jsonl'])
  })
})
