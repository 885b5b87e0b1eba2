import { readFile } from 'node:fs/promises'
import { openProject } from 'agent-host'
import { expect } from 'chai'
import { transform } from 'esbuild'
import { eventually } from '../support/eventually.ts'
import type { Json } from '../support/responses.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { keysFile, Visitor } from '../support/tenant-visitor.ts'

const SOURCE = new URL('../fixtures/tasks-adapter.ts', import.meta.url)
const TASKS = '@acme/tasks#TasksAdapter'
const KEYS = keysFile([
  { name: 'ann', tenant: 'acme', scopes: ['run', 'approve'] },
  { name: 'ci', tenant: 'acme', scopes: ['run'] },
  { name: 'eve', tenant: 'globex', scopes: ['run', 'approve'] },
])
const CHECKER = `id: checker
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: 'one two three' }] } }
  - { id: loop, module: orchestrator/tool-loop }`

describe('a protocol of a package', () => {
  afterEach(closeServers)

  /** A server with the adapter as an npm package, under a file of keys with two tenants. */
  async function open(options: object = {}) {
    const { code } = await transform(await readFile(SOURCE, 'utf8'), { loader: 'ts' })
    const files = {
      ...SHOP_MODULES,
      'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
      'agents/clerk.yml': shopAgent('clerk', '{ name: size, arguments: { amount: 0 } }'),
      'agents/checker.yml': CHECKER,
      'keys.yml': KEYS,
      'node_modules/@acme/tasks/package.json':
        '{ "name": "@acme/tasks", "type": "module", "exports": "./index.js", "agent-host": { "api": 1 } }',
      'node_modules/@acme/tasks/index.js': code,
    }
    const server = await makeServer({ adapters: [TASKS], keys: 'keys.yml', ...options }, files)
    const url = await server.listen()
    const [ann, ci, eve] = [
      new Visitor(url, 'acme', 'ann'),
      new Visitor(url, 'acme', 'ci'),
      new Visitor(url, 'globex', 'eve'),
    ] as const
    return { ...server, url, ann, ci, eve }
  }

  const begin = async (visitor: Visitor, agent: string, more: object = {}) =>
    (await visitor.ask('POST', '/tasks', { agent, text: 'please', ...more })).json as Json
  const until = (visitor: Visitor, task: string, state: string) =>
    eventually(async () => {
      const { json } = await visitor.ask('GET', `/tasks/${task}`)
      expect(json.state).to.equal(state)
      return json as Json
    })
  const eventsOf = async (visitor: Visitor, task: string, after = 0) => {
    const { body } = await visitor.ask('GET', `/tasks/${task}/events?after=${after}`)
    const frames = body.trim().split('\n\n')
    expect(frames.pop()).to.equal('event: done')
    return frames.map((frame) => {
      const [id = '', data = ''] = frame.split('\n')
      return [Number(id.slice(4)), JSON.parse(data.slice(6))] as const
    })
  }

  it('starts a durable run, follows it from any event, and continues its conversation', async () => {
    const { ann } = await open()
    const begun = await ann.ask('POST', '/tasks', { agent: 'checker', text: 'please', label: 'first' })
    expect(begun.status).to.equal(202)
    const { task } = begun.json
    const events = await eventsOf(ann, task)
    const said = events.flatMap(([, event]) => (event.type === 'text' ? [event.text] : []))
    expect([said.join(''), events.at(-1)?.[1].status]).to.deep.equal(['one two three', 'completed'])
    expect(await eventsOf(ann, task, events.length - 1)).to.deep.equal(events.slice(-1))
    expect((await ann.ask('GET', `/tasks/${task}`)).json).to.deep.equal({
      ...{ task, state: 'completed', text: 'one two three', label: 'first', open: [], next: null },
    })
    const next = await begin(ann, 'checker', { after: task })
    await until(ann, next.task, 'completed')
  })

  it('starts a task once for an Idempotency-Key, of each key of the file', async () => {
    const { ann, ci, eve } = await open()
    const task = { agent: 'checker', text: 'please' }
    const ask = async (visitor: Visitor, body: object = task, key = 'k1') => {
      const { status, json } = await visitor.ask('POST', '/tasks', body, { 'idempotency-key': key })
      return status === 202 ? json.task : json.problem
    }
    const [first, ...others] = await Promise.all([ask(ann), ask(ann), ask(ann)])
    expect(new Set(others)).to.deep.equal(new Set([first]))
    expect(new Set([first, await ask(ci), await ask(eve), await ask(ann, task, 'k2')]).size).to.equal(4)
    const title = 'This Idempotency-Key was used with another body'
    expect(await ask(ann, { ...task, text: 'other' })).to.deep.equal({ status: 409, title })
    expect((await ask(ann, task, '')).status).to.equal(400)
  })

  it('answers a run that waits, once, by who may decide', async () => {
    const { ann, ci, project } = await open()
    const { task } = await begin(ci, 'shop', { label: 'pay it' })
    const { open: calls } = await until(ci, task, 'waiting')
    const waits = { task, id: calls[0].id, call: 'pay' }
    expect((await ann.ask('GET', '/tasks')).json).to.deep.equal([waits])
    const decide = (visitor: Visitor) => visitor.ask('POST', `/tasks/${task}/answers`, { [calls[0].id]: 'yes' })
    const refused = await decide(ci)
    expect([refused.status, refused.json.problem.title]).to.deep.equal([403, "The key 'ci' lacks the scope 'approve'"])
    const decided = await decide(ann)
    expect([decided.status, decided.json.open]).to.deep.equal([200, []])
    const next = await until(ci, decided.json.next, 'completed')
    expect([next.text, next.label]).to.deep.equal(['Results: pay 40', 'pay it'])
    expect(await project.read('paid.txt')).to.equal('pay 40\n')
    expect((await ci.ask('GET', `/tasks/${task}`)).json).to.include({ state: 'completed', next: decided.json.next })
    const again = await decide(ann)
    expect([again.status, again.json.problem.title]).to.deep.equal([409, 'The approval is already approved'])
    expect((await ann.ask('GET', '/tasks')).json).to.deep.equal([])
  })

  it('answers questions, and keeps a turn that waits', async () => {
    const { ann } = await open()
    const asked = await ann.ask('POST', '/ask', { agent: 'clerk', text: 'please' })
    const [{ id, call }] = asked.json.open
    expect([call, asked.status]).to.deep.equal(['size', 200])
    const wrong = await ann.ask('POST', '/tasks/x/answers', { [id]: { value: 'large' } })
    expect([wrong.status, wrong.json.problem.status]).to.deep.equal([400, 400])
    const { next } = (await ann.ask('POST', '/tasks/x/answers', { [id]: { value: 42 } })).json
    expect((await until(ann, next, 'completed')).text).to.equal('Results: size 42')
  })

  it('cancels what waits; a message rejects it', async () => {
    const { ann, project } = await open()
    const [first, second] = [await begin(ann, 'shop'), await begin(ann, 'shop')]
    const [{ open: calls }] = [await until(ann, first.task, 'waiting'), await until(ann, second.task, 'waiting')]
    expect((await ann.ask('DELETE', `/tasks/${first.task}`)).json).to.include({ state: 'cancelled' })
    const late = await ann.ask('POST', `/tasks/${first.task}/answers`, { [calls[0].id]: 'yes' })
    expect(late.status).to.equal(409)
    const { task } = await begin(ann, 'checker', { after: second.task })
    await until(ann, task, 'completed')
    expect((await ann.ask('GET', `/tasks/${second.task}`)).json).to.include({ state: 'completed', next: task })
    expect((await ann.ask('GET', '/tasks')).json).to.deep.equal([])
    expect(project.exists('paid.txt')).to.equal(false)
    expect((await ann.ask('DELETE', `/tasks/${task}`)).json.state).to.equal('completed')
  })

  it('shows a tenant nothing of another, and answers errors in its own form', async () => {
    const { ann, eve, url } = await open()
    const { task } = await begin(ann, 'shop')
    const { open: calls } = await until(ann, task, 'waiting')
    const attempts = [
      eve.ask('GET', `/tasks/${task}`),
      eve.ask('GET', `/tasks/${task}/events`),
      eve.ask('DELETE', `/tasks/${task}`),
      eve.ask('POST', `/tasks/${task}/answers`, { [calls[0].id]: 'yes' }),
      eve.ask('POST', '/tasks', { agent: 'checker', text: 'x', after: task }),
    ]
    expect((await Promise.all(attempts)).map(({ status, json }) => [status, json.problem.status])).to.deep.equal(
      attempts.map(() => [404, 404]),
    )
    expect((await eve.ask('GET', '/tasks')).json).to.deep.equal([])
    const nobody = await fetch(`${url}/tasks`)
    expect([nobody.status, Object.keys((await nobody.json()) as object)]).to.deep.equal([401, ['problem']])
    const bad = await ann.ask('POST', '/tasks', { agent: 'shop' })
    expect([bad.status, bad.json]).to.deep.equal([400, { problem: { status: 400, title: 'text is missing.' } }])
    const unknown = await ann.ask('POST', '/tasks', { agent: 'nobody', text: 'x' })
    expect([unknown.status, unknown.json.problem.title]).to.deep.equal([400, 'model not found'])
    await until(ann, task, 'waiting')
  })

  it('describes its routes', async () => {
    const { ann } = await open()
    const { paths, components } = (await ann.ask('GET', '/openapi.json')).json
    const { operationId, tags, security, responses, requestBody } = paths['/tasks'].post
    expect([operationId, tags, security]).to.deep.equal(['startTask', ['Tasks'], [{ fileKey: [] }]])
    expect(Object.keys(responses)).to.deep.equal(['202', '400', '401', '413', '415'])
    expect(requestBody.content['application/json'].schema.required).to.deep.equal(['agent', 'text'])
    expect(responses[202].content['application/json'].schema).to.deep.equal({ $ref: '#/components/schemas/Task' })
    expect(Object.keys(components.schemas)).to.include('Task')
    const { get: follow } = paths['/tasks/{id}/events']
    expect(follow.parameters.map(({ name }: Json) => name)).to.deep.equal(['after', 'id'])
    expect(Object.keys(follow.responses)).to.deep.equal(['200', '400', '401', '404'])
    expect(Object.keys(follow.responses[200].content)).to.deep.equal(['text/event-stream'])
    const answer = paths['/tasks/{id}/answers'].post.responses
    expect([answer[200].description, answer[409].description]).to.deep.equal(['OK', 'It was answered before.'])
  })

  it('refuses what does not fit the table of its routes, and a key without the scope that it names', async () => {
    const { ann, ci } = await open()
    const { status, json } = await ann.ask('POST', '/tasks', { agent: 'checker' })
    expect([status, json.problem.title]).to.deep.equal([400, 'text is missing.'])
    const refused = await ci.ask('POST', '/tasks/x/answers', {})
    expect([refused.status, refused.json.problem.title]).to.deep.equal([403, "The key 'ci' lacks the scope 'approve'"])
  })

  it('is seen by the responses API and its inbox, without the data of the adapter', async () => {
    const { ann } = await open({ adapters: [TASKS, 'ResponsesCompatApiAdapter'] })
    const { task } = await begin(ann, 'shop', { label: 'of tasks alone' })
    await until(ann, task, 'waiting')
    const { json: response, body } = await ann.ask('GET', `/v1/responses/${task}`)
    expect(response).to.include({ id: task, model: 'shop', status: 'completed', background: true })
    expect(body).to.not.contain('of tasks alone')
    const [{ id }] = (await ann.ask('GET', '/v1/approvals')).json.data
    const { continued_by: next } = (await ann.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })).json
    expect((await until(ann, next, 'completed')).label).to.equal('of tasks alone')
    const own = (await ann.ask('POST', '/v1/responses', { model: 'checker', input: 'hi' })).json
    expect((await ann.ask('GET', `/tasks/${own.id}`)).json).to.include({ state: 'completed', label: null })
  })

  it('is followed by a program, which does not get the data of the adapter', async () => {
    const { ann, project: folder } = await open()
    const { task } = await begin(ann, 'checker', { label: 'of tasks alone' })
    await using project = await openProject({ projectDir: folder.dir, noWorker: true, logLevel: 'silent' })
    const runs = project.runs.of('acme')
    expect((await runs.outcome(task)).text).to.equal('one two three')
    expect(await runs.find(task)).to.include({ agent: 'checker', status: 'completed', data: null })
    expect(await project.runs.of('').find(task)).to.equal(undefined)
  })

  it('goes on after its server has ended, on another', async () => {
    const first = await open({ noWorker: true })
    const { task } = await begin(first.ann, 'checker', { label: 'later' })
    expect((await first.ann.ask('GET', `/tasks/${task}`)).json.state).to.equal('queued')
    await first.close()
    const { ann } = await open({ projectDir: first.project.dir })
    expect(await until(ann, task, 'completed')).to.include({ text: 'one two three', label: 'later' })
  })
})
