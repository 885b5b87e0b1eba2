import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { counted, SHOP } from '../../support/counting-shop.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { untilTaped } from '../../support/tapes.ts'
import { keysFile } from '../../support/tenant-visitor.ts'
import { HOSTILE_CHANGES, tillsOpened, VARIED_PROJECT } from '../../support/varied.ts'

const OWN = { origin: 'http://localhost:80' }
const DEV = {
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'],
  debug: true,
  development: true,
  record: 1,
}

const PROMPT = (value: string) => [{ module: 'main', path: ['system_prompt'], value }]

async function serve(options: Partial<ServerOptions> = DEV, files: Readonly<Record<string, string>> = SHOP) {
  const server = await makeServer(options, files)
  /** Runs an agent, and waits for the tape. */
  const record = async (agent: string, text: string, turn: object = {}) => {
    const handle = server.host.start(agent, { messages: [{ role: 'user', content: text }], ...turn })
    await handle.result
    await untilTaped(server.project.dir, handle.id)
    return handle.id
  }
  const find = async (id: string) => {
    const fields = 'run_id status output error variant replays replays_from agent_version'
    const query = `{ run(run_id: "${id}") { ${fields} events { events { event_type call_id module_id method_name arguments } } } }`
    return (await ask<Json>(server, query)).run
  }
  /** Ids of the calls of a method, in their order. */
  const callsOf = async (id: string, method: string): Promise<string[]> => {
    const { events } = (await find(id)).events
    return events.flatMap(({ event_type, method_name, call_id }: Json) =>
      event_type === 'call' && method_name === method ? [call_id] : [],
    )
  }
  const rerun = async (id: string, payload: unknown, headers: Readonly<Record<string, string>> = OWN) => {
    const url = `/api/ui/runs/${id}/rerun`
    const reply = await server.app.inject({ method: 'POST', url, payload: payload as object, headers })
    return { status: reply.statusCode, json: reply.json() as Json }
  }
  /** Runs again, and waits for the end. */
  const again = async (id: string, payload: unknown) => {
    const { status, json } = await rerun(id, payload)
    expect(status, JSON.stringify(json)).to.equal(201)
    return eventually(async () => {
      const run = await find(json.run_id)
      expect(run?.status).to.not.be.oneOf([undefined, 'running'])
      return run
    })
  }
  return { ...server, record, find, callsOf, rerun, again }
}

describe('a rerun from the debug UI', () => {
  beforeEach(() => {
    counted('clerkAsked').length = 0
    counted('deskDone').length = 0
  })
  afterEach(closeServers)

  it('asks the model again from a call on, with a changed prompt; before it everything comes from the tape', async () => {
    const { record, callsOf, again, project, find } = await serve()
    const run = await record('shop', 'Where is A1?')
    const [, second] = await callsOf(run, 'generate')
    expect([counted('clerkAsked').length, counted('deskDone')]).to.deep.equal([2, ['find A1']])
    const changes = [...PROMPT('Be brief.'), { module: 'llm', path: ['temperature'], value: 0.5 }]
    const { status, output, run_id, events, ...marks } = await again(run, { call_id: second, changes })
    expect([status, output]).to.deep.equal(['completed', 'Be brief. | 0.5 | find A1 | {"order":"A1"}'])
    expect(marks).to.deep.include({
      replays: run,
      replays_from: 4,
      variant: 'system_prompt: kind. → brief., llm.temperature: 0.5',
    })
    expect(marks.agent_version).to.not.equal((await find(run)).agent_version)
    // The tool was not called again, and the model once.
    expect([counted('clerkAsked').length, counted('deskDone')]).to.deep.equal([3, ['find A1']])
    // It has a tape of its own, of the agent that it stands for.
    const lines = (await untilTaped(project.dir, run_id))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json)
    expect(lines[0].agent.definition.modules[2].config.system_prompt).to.equal('Be brief.')
    expect(lines.filter(({ type }) => type === 'call').map(({ method }) => method)).to.deep.equal([
      'listTools',
      'generate',
      'executeTool',
      'generate',
    ])
    const oldest = await again(run_id, { call_id: (await callsOf(run_id, 'generate'))[1] })
    expect([oldest.replays, oldest.output]).to.deep.equal([run_id, output])
  })

  it('gives another result of a tool, a memory or a model, without asking for it', async () => {
    const { record, callsOf, again } = await serve()
    const run = await record('shop', 'Where is A1?')
    const [found] = await callsOf(run, 'executeTool')
    const { output } = await again(run, { call_id: found, result: 'lost' })
    expect(output).to.equal('Be kind. | - | lost | {"order":"A1"}')
    const listed = await again(run, { call_id: found, result: { place: 'Lima' } })
    expect(listed.output).to.contain('{"place":"Lima"}')
    expect(counted('deskDone')).to.deep.equal(['find A1'])
    const asked = counted('clerkAsked').length
    const [, answered] = await callsOf(run, 'generate')
    const said = await again(run, { call_id: answered, result: 'It is on its way.' })
    expect([said.status, said.output]).to.deep.equal(['completed', 'It is on its way.'])
    expect(counted('clerkAsked').length).to.equal(asked)
  })

  it('calls a tool with other arguments, for real alone; the model has asked for these', async () => {
    const { record, callsOf, rerun, again } = await serve()
    const run = await record('shop', 'Where is A1?')
    const [found] = await callsOf(run, 'executeTool')
    const edited = { call_id: found, arguments: { order: 'B2' } }
    const refused = await rerun(run, edited)
    expect([refused.status, refused.json.detail]).to.deep.equal([
      400,
      'arguments: other arguments are a call that the tape does not have; live must name tools',
    ])
    const { output } = await again(run, { ...edited, live: ['llm', 'tools'] })
    expect(output).to.equal('Be kind. | - | find B2 | {"order":"B2"}')
    expect(counted('deskDone')).to.deep.equal(['find A1', 'find B2'])
    const model = await rerun(run, { ...edited, call_id: (await callsOf(run, 'generate'))[0], live: ['llm', 'tools'] })
    expect([model.status, model.json.detail]).to.deep.equal([400, 'arguments: call 2 is none of a tool'])
  })

  it('fails at a tool call that the tape lacks; with live tools it waits for its approval, and goes on', async () => {
    const { record, callsOf, again, app, find } = await serve()
    const run = await record('shop', 'Where is A1?')
    const edited = { call_id: (await callsOf(run, 'generate'))[1], changes: PROMPT('Refund it.') }
    const failed = await again(run, edited)
    expect(failed).to.include({ status: 'failed' })
    expect(failed.error).to.contain('The tape has no more calls, and one is asked for: tools: refund({"order":"A1"})')
    expect(counted('deskDone')).to.deep.equal(['find A1'])
    const waiting = await again(run, { ...edited, live: ['llm', 'tools'] })
    expect(waiting.status).to.equal('waiting')
    expect(counted('deskDone')).to.deep.equal(['find A1'])
    const approval = await eventually(async () => {
      const { data } = (await app.inject('/compat/approvals')).json()
      expect(data).to.have.length(1)
      return data[0]
    })
    const decide = {
      method: 'POST' as const,
      url: `/compat/approvals/${approval.id}`,
      payload: { decision: 'approve' },
    }
    const decided = await app.inject(decide)
    expect(decided.statusCode).to.equal(200)
    // As for any run, a decision counts once, and its run can be read.
    const repeated = await app.inject(decide)
    expect([repeated.statusCode, repeated.headers['x-should-retry']]).to.deep.equal([409, 'false'])
    const next = await app.inject(`/compat/responses/${decided.json().continued_by}`)
    expect(next.json()).to.include({ previous_response_id: approval.response_id, model: 'shop' })
    await eventually(() => expect(counted('deskDone')).to.deep.equal(['find A1', 'refund A1']))
    await eventually(async () => expect((await find(waiting.run_id)).status).to.equal('continued'))
  })

  it('is refused with the reason: no such run, tape or call, secrets, unknown values', async () => {
    const { record, callsOf, rerun, project, callsOf: calls } = await serve()
    const run = await record('shop', 'Where is A1?')
    const [call] = await callsOf(run, 'generate')
    const refusals: [string, object, number, RegExp][] = [
      ['none', { call_id: call }, 404, /^There is no such run$/],
      [run, { call_id: 'none' }, 400, /^call_id: the tape has no such call/],
      [run, { call_id: (await calls(run, 'handleText'))[0] }, 400, /^call_id: the tape has no such call/],
      [run, {}, 400, /call_id/],
      [run, { call_id: call, live: ['shell'] }, 400, /live/],
      [run, { call_id: call, changes: PROMPT('The key is sk-aaaaaaaaaaaaaaaaaaaaaaaaaa') }, 400, /holds a secret/],
      [
        run,
        { call_id: call, changes: [{ module: 'llm', path: ['wings'], value: 1 }] },
        400,
        /wings may not be changed/,
      ],
      [run, { call_id: call, result: { text: 'x' } }, 400, /^result: that of a model must be a text$/],
    ]
    for (const [id, payload, status, detail] of refusals) {
      const refused = await rerun(id, payload)
      expect([refused.status, JSON.stringify(payload)]).to.deep.equal([status, JSON.stringify(payload)])
      expect(refused.json.detail).to.match(detail)
    }
    const { unlinkSync, writeFileSync } = await import('node:fs')
    writeFileSync(pathOfTape(project.dir, run), readFileSync(pathOfTape(project.dir, run)).subarray(0, 100))
    expect((await rerun(run, { call_id: call })).json.detail).to.match(
      /^run_id: \S+ is not a tape: it does not begin with a head/,
    )
    unlinkSync(pathOfTape(project.dir, run))
    const gone = await rerun(run, { call_id: call })
    expect([gone.status, gone.json.detail]).to.deep.equal([404, 'There is no tape of this run'])
    expect(counted('clerkAsked').length).to.equal(2)
  })

  it('starts nothing for other pages and programs, and does not exist beyond dev', async () => {
    const keys = keysFile([{ name: 'dev', scopes: ['run', 'debug'] }])
    const { record, callsOf, rerun, app, project, close } = await serve()
    const run = await record('shop', 'Where is A1?')
    const [call] = await callsOf(run, 'generate')
    const strangers: Record<string, string>[] = [
      {},
      { origin: 'null' },
      { origin: 'http://b.test' },
      { origin: 'http://b.test', host: 'b.test' },
      { origin: 'http://localhost:81' },
      { ...OWN, host: 'b.test' },
    ]
    for (const headers of strangers) {
      for (const body of [{ call_id: call }, { call_id: 7 }]) {
        expect((await rerun(run, body, headers)).status, JSON.stringify(headers)).to.be.oneOf([403, 404])
      }
    }
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const reply = await app.inject({ method, url: `/api/ui/runs/${run}/rerun`, headers: OWN })
      expect(reply.statusCode).to.be.oneOf([404, 405])
    }
    const form = { ...OWN, 'content-type': 'text/plain' }
    expect((await rerun(run, JSON.stringify({ call_id: call }), form)).status).to.equal(415)
    expect(counted('clerkAsked').length).to.equal(2)
    expect(readdirSync(`${project.dir}/debug/tapes`).filter((name) => name.endsWith('.gz'))).to.have.length(1)
    await close()
    const served = await serve(
      { ...DEV, development: false, allowVariants: true, keys: 'keys.yml' },
      { ...SHOP, 'keys.yml': keys },
    )
    const other = await served.record('shop', 'Where is A1?')
    for (const headers of [OWN, { authorization: 'Bearer key-of-dev' }]) {
      expect((await served.rerun(other, { call_id: call }, headers)).status).to.be.oneOf([401, 404])
    }
    expect(counted('clerkAsked').length).to.equal(4)
  })

  it('changes nothing that no variant may change', async () => {
    const { record, callsOf, rerun, project } = await serve(DEV, VARIED_PROJECT)
    const run = await record('talker', 'hi')
    const [call] = await callsOf(run, 'generate')
    const tills = tillsOpened().length
    for (const [index, changes] of HOSTILE_CHANGES.entries()) {
      const { status, json } = await rerun(run, { call_id: call, changes })
      expect([status, json.run_id], `${index}: ${JSON.stringify(changes)}`).to.deep.equal([400, undefined])
    }
    expect(tillsOpened().length).to.equal(tills)
    expect(existsSync(project.path('stolen'))).to.equal(false)
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
  })

  it('is one of the tenant of its run: keys of another have no such run', async () => {
    const keys = keysFile([
      { name: 'acme', tenant: 'acme', scopes: ['run', 'debug'] },
      { name: 'globex', tenant: 'globex', scopes: ['run', 'debug'] },
    ])
    const { record, rerun, app } = await serve({ ...DEV, keys: 'keys.yml' }, { ...SHOP, 'keys.yml': keys })
    const by = (name: string) => ({ ...OWN, authorization: `Bearer key-of-${name}` })
    const run = await record('shop', 'Where is A1?', { tenant: 'acme' })
    const query = `{ run(run_id: "${run}") { events { events { call_id method_name } } } }`
    const { events } = (await ask<Json>({ app }, query, {}, by('acme'))).run.events
    const { call_id } = events.find(({ method_name }: Json) => method_name === 'generate')
    const foreign = await rerun(run, { call_id }, by('globex'))
    expect([foreign.status, foreign.json.detail]).to.deep.equal([404, 'There is no such run'])
    expect(counted('clerkAsked').length).to.equal(2)
    const own = await rerun(run, { call_id }, by('acme'))
    expect(own.status).to.equal(201)
    const seen = async (name: string) => {
      const list = await ask<Json>({ app }, '{ runs { runs { run_id tenant } } }', {}, by(name))
      return list.runs.runs
    }
    await eventually(async () =>
      expect(await seen('acme')).to.deep.include({ run_id: own.json.run_id, tenant: 'acme' }),
    )
    expect(await seen('globex')).to.deep.equal([])
  })
})
