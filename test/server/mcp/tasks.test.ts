import { setTimeout as wait } from 'node:timers/promises'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { Approvals, claimOf, closeOpen } from '../../../src/durable/approvals/approvals.ts'
import { CheckedStore } from '../../../src/store/checked-store.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { eventually } from '../../support/eventually.ts'
import { type OnQuestion, openTaskSession, type TaskSession } from '../../support/mcp-tasks.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { makeProject } from '../../support/temp-project.ts'
import { keysFile } from '../../support/tenant-visitor.ts'

const WORD = `import { appendFileSync } from 'node:fs'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { setTimeout as wait } from 'node:timers/promises'
export default defineModule({ name: 'Word', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }, _, { projectDir }) => ({ async handleText(text, run) {
    appendFileSync(projectDir + '/begun.txt', text + '\\n')
    if (text === 'fail') throw new Error('secret detail')
    if (text === 'hang') await wait(60_000, undefined, { signal: run.signal })
    if (text === 'draw') await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) })
    await response.respondText(run.input ? JSON.stringify({ sum: run.input.a + 1 }) : 'said ' + text)
  } }) })`
const FILES = {
  ...SHOP_MODULES,
  'modules/word.ts': WORD,
  'agents/word.yml': 'id: word\ntasks: true\nmodules: [{ id: main, module: word }]',
  'agents/quick.yml': 'id: quick\nmodules: [{ id: main, module: word }]',
  'agents/sum.yml': `id: sum
tasks: true
input: { type: object, properties: { a: { type: number } }, required: [a] }
output: { type: object, properties: { sum: { type: number } }, required: [sum] }
modules: [{ id: main, module: word }]`,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }', 'tasks: true'),
  'agents/clerk.yml': shopAgent('clerk', '{ name: size, arguments: { amount: 0 } }', 'tasks: true'),
}

describe('calls over MCP as tasks', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  async function open(options: Partial<ServerOptions> = {}, more: Readonly<Record<string, string>> = {}) {
    const server = await makeServer({ adapters: ['McpApiAdapter'], ...options }, { ...FILES, ...more })
    const url = new URL('/mcp', await server.listen())
    const connect = (onQuestion?: OnQuestion, headers = {}) =>
      openTaskSession(url, { ...(onQuestion ? { onQuestion } : {}), headers })
    return { ...server, url, connect }
  }

  async function start(client: TaskSession, agent: string, args: Record<string, string | number>) {
    const execution = await client.tasks.callTool(agent, args)
    if (execution.kind !== 'task') throw new Error('The call is no task.')
    return execution
  }
  const call = async (client: TaskSession, agent: string, message: string) =>
    (await (await start(client, agent, { message })).settle()).outcome

  it('are started and followed to their end by the official client', async () => {
    const { connect } = await open()
    await using client = await connect()
    const execution = await start(client, 'word', { message: 'hello' })
    const { outcome, lastTask } = await execution.settle()
    expect(outcome).to.deep.include({
      status: 'completed',
      result: { resultType: 'complete', content: [{ type: 'text', text: 'said hello' }] },
    })
    expect(lastTask?.taskId).to.equal(execution.handle.taskId)
    expect(lastTask?.retentionMs).to.equal(null)
    expect(lastTask?.suggestedPollIntervalMs).to.be.within(100, 1000)
    const drawn = await call(client, 'word', 'draw')
    expect(drawn)
      .to.have.nested.property('result.content[1]')
      .deep.equal({
        ...{ type: 'image', data: 'AQID', mimeType: 'image/png' },
      })
    const { outcome: sum } = await (await start(client, 'sum', { a: 2 })).settle()
    expect(sum).to.have.nested.property('result.structuredContent').deep.equal({ sum: 3 })
  })

  it('that fail say so as a request does, without the reason', async () => {
    const { connect } = await open()
    await using client = await connect()
    const outcome = await call(client, 'word', 'fail')
    expect(outcome.status === 'failed' && [outcome.error.code, outcome.error.message]).to.deep.equal([
      ...[-32603, 'Agent execution failed'],
    ])
  })

  it('are cancelled: the agent is aborted', async () => {
    const { connect, host } = await open()
    await using client = await connect()
    const execution = await start(client, 'word', { message: 'hang' })
    await eventually(() => expect(host.runningCount).to.equal(1))
    await client.tasks.cancelTask(execution.handle.taskId)
    await eventually(() => expect(host.runningCount).to.equal(0))
    expect((await client.send('tasks/get', { taskId: execution.handle.taskId })).result).to.include({
      status: 'cancelled',
    })
  })

  it('wait for a person, who decides through the client: the tool runs once', async () => {
    const asked: object[] = []
    const { connect, project } = await open()
    await using client = await connect((params) => {
      asked.push(params)
      return 'message' in params && params.message === 'Which size?'
        ? { action: 'accept', content: { answer: 42 } }
        : { action: 'accept', content: {} }
    })
    expect(await call(client, 'shop', 'please')).to.have.nested.property('result.content[0].text', 'Results: pay 40')
    expect(await call(client, 'clerk', 'please')).to.have.nested.property('result.content[0].text', 'Results: size 42')
    expect(asked).to.have.length(2)
    expect(await project.read('paid.txt')).to.equal('pay 40\nsize 42\n')
  })

  it('take a decision of several once; others, and those without one, change nothing', async () => {
    const { connect, project } = await open()
    await using client = await connect(() => ({ action: 'accept' }))
    const waiting = async () => {
      const { taskId } =
        (await client.send('tools/call', { name: 'shop', arguments: { message: 'please' } })).result ?? {}
      const inputRequests = await eventually(async () => {
        const { result } = await client.send('tasks/get', { taskId })
        expect(result).to.include({ status: 'input_required' })
        return result?.inputRequests as Record<string, unknown>
      })
      return { taskId, key: Object.keys(inputRequests)[0] ?? '' }
    }
    const { taskId, key } = await waiting()
    const respond = (action: string, name = key) =>
      client.send('tasks/update', { taskId, inputResponses: { [name]: { action, content: {} } } })
    const sendOdd = (response: unknown) => client.send('tasks/update', { taskId, inputResponses: { [key]: response } })
    for (const response of [
      { action: 'accept', content: 'x' },
      { action: 'accept', content: [] },
      { action: 'accept', content: false },
      { action: 'accept', content: { approve: false } },
      { action: ' accept' },
      { action: ['accept'] },
      'accept',
    ])
      await sendOdd(response)
    for (const reply of [await respond('cancel'), await respond('accept', 'nothing')]) {
      expect(reply.result).to.deep.include({ resultType: 'complete' })
    }
    expect((await client.send('tasks/get', { taskId })).result).to.include({ status: 'input_required' })
    expect(project.exists('paid.txt')).to.equal(false)
    await Promise.all([respond('accept'), respond('accept'), respond('decline')])
    await eventually(async () => {
      expect((await client.send('tasks/get', { taskId })).result).to.include({ status: 'completed' })
    })
    expect((await respond('accept')).error).to.equal(undefined)
    expect(project.exists('paid.txt') ? await project.read('paid.txt') : 'rejected').to.be.oneOf([
      'pay 40\n',
      'rejected',
    ])
    const cancelled = await waiting()
    expect((await client.send('tasks/cancel', { taskId: cancelled.taskId })).error).to.equal(undefined)
    const { result } = await client.send('tasks/get', { taskId: cancelled.taskId })
    expect(result).to.include({ status: 'cancelled' })
  })

  it('of a client that cannot ask its user say where somebody else decides, and go on then', async () => {
    const { connect, project, ...server } = await open({ adapters: ['McpApiAdapter', 'ResponsesCompatApiAdapter'] })
    await using client = await connect()
    const execution = await start(client, 'shop', { message: 'please' })
    const { taskId } = execution.handle
    const id = await eventually(async () => {
      const { result } = await client.send('tasks/get', { taskId })
      expect(result).to.include({ status: 'working' })
      const [, id] = /compat\/approvals\/(\S+),/.exec(String(result?.statusMessage)) ?? []
      expect(id).to.be.a('string')
      return id
    })
    await server.app.inject({ method: 'POST', url: `/compat/approvals/${id}`, payload: { decision: 'approve' } })
    expect((await execution.settle()).outcome).to.have.nested.property('result.content[0].text', 'Results: pay 40')
    expect(await project.read('paid.txt')).to.equal('pay 40\n')
  })

  it('that wait for a decision that does not come end without being executed', async () => {
    const { connect, project } = await open()
    await using client = await connect()
    const execution = await start(client, 'shop', { message: 'please' })
    const { taskId } = execution.handle
    await eventually(async () => {
      const { result } = await client.send('tasks/get', { taskId })
      expect(result?.statusMessage).to.be.a('string')
    })
    const records = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    const approvals = new Approvals(records)
    const waiting = await approvals.ofRun(taskId)
    await approvals.commit(claimOf(waiting, closeOpen(waiting, 'expired')))
    await records.close()
    const { outcome } = await execution.settle()
    expect(outcome).to.have.nested.property('result.isError', true)
    expect(project.exists('paid.txt')).to.equal(false)
  })

  it('need the capability of the client; other agents, and other clients, answer as ever', async () => {
    const { connect, url } = await open()
    await using client = await connect()
    const { kind } = await client.tasks.callTool('quick', { message: 'hello' })
    expect(kind).to.equal('immediate')
    await using plain = await openTaskSession(url, { takesTasks: false })
    const { result } = await plain.send('tools/call', { name: 'word', arguments: { message: 'hello' } })
    expect(result).to.deep.include({ resultType: 'complete', content: [{ type: 'text', text: 'said hello' }] })
    const { handle } = await start(client, 'word', { message: 'hello' })
    const { error } = await plain.send('tasks/get', { taskId: handle.taskId })
    expect(error).to.deep.include({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const reply = await client.send(method, { taskId: 'unknown', inputResponses: {} })
      expect([reply.error?.code, reply.error?.message]).to.deep.equal([
        ...[-32602, "Invalid params: there is no task 'unknown'"],
      ])
      for (const taskId of [{ toString: null, valueOf: null }, [handle.taskId], undefined]) {
        const { error } = await client.send(method, { taskId, inputResponses: {} })
        expect([error?.code, error?.message]).to.deep.equal([-32602, 'Invalid params: taskId must be a string'])
      }
    }
  })

  it('belong to one tenant', async () => {
    const keys = [
      { name: 'ann', tenant: 'acme', scopes: ['run', 'approve'] },
      { name: 'eve', tenant: 'globex', scopes: ['run', 'approve'] },
    ] as const
    const { connect } = await open({ keys: 'keys.yml' }, { 'keys.yml': keysFile(keys) })
    const as = (name: string) => connect(() => ({ action: 'accept' }), { authorization: `Bearer key-of-${name}` })
    await using ann = await as('ann')
    await using eve = await as('eve')
    const { taskId } = (await start(ann, 'word', { message: 'hang' })).handle
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const reply = await eve.send(method, { taskId, inputResponses: {} })
      expect(reply.error?.message).to.equal(`Invalid params: there is no task '${taskId}'`)
    }
    expect((await ann.send('tasks/get', { taskId })).result).to.include({ status: 'working' })
    await ann.tasks.cancelTask(taskId)
  })

  it('are refused like requests when the queue is full, and leave nothing behind', async () => {
    const { connect } = await open({ noWorker: true, maxQueuedRuns: 1 })
    await using client = await connect()
    await start(client, 'word', { message: 'first' })
    const { error } = await client.send('tools/call', { name: 'word', arguments: { message: 'second' } })
    expect(error?.message).to.match(/queue of background runs is full/)
  })

  it('are cancelled when their client leaves before it knows of them', async () => {
    const { connect, project } = await open({ noWorker: true })
    await using client = await connect()
    const { commit } = CheckedStore.prototype
    const [begun, left] = [deferred<void>(), deferred<void>()]
    CheckedStore.prototype.commit = async function (changes, ...rest) {
      CheckedStore.prototype.commit = commit
      begun.resolve()
      await left.promise
      return commit.call(this, changes, ...rest)
    }
    const leaving = new AbortController()
    const calling = client.send('tools/call', { name: 'word', arguments: { message: 'x' } }, leaving.signal)
    await begun.promise
    leaving.abort()
    expect(await calling.catch(({ name }: Error) => name)).to.equal('AbortError')
    await wait(50)
    left.resolve()
    const records = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    await eventually(async () => {
      const [[, text] = ['', '']] = await records.entries({ prefix: 'response:', limit: 2 })
      expect(text).to.contain('"cancelled"')
    })
    expect(await records.list({ prefix: 'queued:', limit: 1 })).to.deep.equal([])
    await records.close()
  })

  it('go on after their server was killed: nobody has to ask for them, and no other adapter is served', async () => {
    const project = await makeProject({ ...FILES, '.env': '' })
    const serve = async (...args: string[]) => {
      const server = startCli(['serve', '--adapter', 'McpApiAdapter', '--port', '0', ...args], { cwd: project.dir })
      const [, address] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
      return { ...server, url: new URL('/mcp', address) }
    }
    const killed = await serve('--no-worker')
    await using before = await openTaskSession(killed.url)
    const execution = await start(before, 'word', { message: 'later' })
    const reference = execution.serializeReference()
    await execution.detach()
    await killed.stop('SIGKILL')
    expect(project.exists('begun.txt')).to.equal(false)
    const { url } = await serve()
    await eventually(async () => expect(await project.read('begun.txt')).to.equal('later\n'))
    await using after = await openTaskSession(url)
    const { outcome } = await (await after.tasks.resumeTask(reference)).settle()
    expect(outcome).to.have.nested.property('result.content[0].text', 'said later')
  })
})
