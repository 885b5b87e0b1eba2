import { symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  AgentHost,
  type AgentHostOptions,
  defineModule,
  HostError,
  Response,
  type Run,
  type RunEvent,
  TextMessageHandler,
} from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../src/async.ts'
import { measureCpuTime } from '../support/cpu-time.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const HEAD = `import { defineModule, Response, TextMessageHandler, ToolProvider, many, Type } from 'agent-host'
const log = (globalThis.hostTestLog ??= [])
`
const MODULES = {
  'modules/say.ts': `${HEAD}export default defineModule({ name: 'Say', provides: [TextMessageHandler], uses: { response: Response },
  config: Type.Object({ text: Type.String({ default: 'v1' }) }),
  create: ({ response }, { text }) => ({ async handleText(asked, run) { await response.respondText(text + ':' + asked) } }) })`,
  'modules/slow.ts': `${HEAD}export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await response.respondText('begun')
    await new Promise((resolve, reject) => { setTimeout(resolve, Number(text)); run.signal.addEventListener('abort', () => { log.push('aborted'); reject(run.signal.reason) }) })
    await response.respondText(' ended')
  } }) })`,
  'modules/fail.ts': `${HEAD}export default defineModule({ name: 'Fail', provides: [TextMessageHandler], create: () => ({ handleText() { throw new Error('no luck') } }) })`,
  'modules/owned.ts': `${HEAD}export default defineModule({ name: 'Owned', provides: [ToolProvider], config: Type.Object({ name: Type.String() }),
  create: (_, { name }) => { log.push('make ' + name); return { listTools: () => [], async executeTool() { return { text: name } }, dispose() { log.push('dispose ' + name) } } } })`,
  'modules/owner.ts': `${HEAD}export default defineModule({ name: 'Owner', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: async ({ tools, response }) => { log.push('make owner'); return { async handleText(text, run) {
    if (text === 'fail') throw new Error('failed')
    const answers = await Promise.all(tools.map((tool) => tool.executeTool('x', {}, run)))
    await response.respondText(answers.map((answer) => answer.text).join())
  }, async [Symbol.asyncDispose]() { log.push('dispose owner') } } } })`,
  'modules/stuck.ts': `${HEAD}export default defineModule({ name: 'Stuck', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ response }) => ({ async handleText(text) {
    if (text === 'fail') throw new Error('failed')
    await response.respondText('answered')
  }, dispose: () => new Promise(() => {}) }) })`,
  'modules/broken.ts': `${HEAD}export default defineModule({ name: 'Broken', provides: [ToolProvider, TextMessageHandler], create: () => ({ dispose: () => void globalThis.hostTestLog?.push('dispose broken') }) })`,
}

const TOOL = `import { defineTool, Type } from 'agent-host'
export const add = defineTool({ description: 'Adds.', parameters: Type.Object({}), execute: () => 1 })`

const globals = globalThis as { hostTestLog?: string[] }
const agent = (id: string, module = 'say', more: object = {}) => ({ id, modules: [{ id: 'main', module, ...more }] })
const owning = (id: string, name: string) => ({
  id,
  modules: [
    { id: 'owner', module: 'owner' },
    { id: 'own', module: 'owned', scope: 'agent', config: { name } },
  ],
})

describe('AgentHost', () => {
  let hosts: AgentHost[] = []
  const makeHost = async (options: AgentHostOptions = {}) => {
    const project = await makeProject(MODULES)
    const host = new AgentHost({ projectDir: project.dir, ...options })
    hosts.push(host)
    return host
  }
  const failure = async (promise: Promise<unknown>): Promise<HostError> => {
    const error = await promise.then(
      () => new Error('It did not fail.'),
      (thrown: unknown) => thrown,
    )
    if (error instanceof HostError) return error
    throw error
  }
  beforeEach(() => {
    globals.hostTestLog = []
  })
  afterEach(async () => {
    await Promise.all(hosts.map((host) => host.close(0)))
    hosts = []
  })

  it('reports the end of each run once', async () => {
    const host = await makeHost()
    for (const [id, module] of [['say'], ['fail', 'fail'], ['slow', 'slow']])
      await host.register(agent(id ?? '', module))
    const ends: string[] = []
    host.onRunEnd(({ agentId, entryPoint, status, durationMs, startedAt }) => {
      const isTimed = durationMs >= 0 && Math.abs(startedAt - Date.now() / 1000) < 10
      ends.push(`${agentId} ${entryPoint} ${status} ${isTimed}`)
    })
    await host.run('say', 'x')
    await failure(host.run('fail', 'x'))
    const handle = host.start('slow', { messages: [{ role: 'user', content: '20' }] })
    handle.abort()
    await failure(handle.result)
    await setTimeout(40)
    expect(ends).deep.equal([
      'say __entry__ completed true',
      'fail __entry__ failed true',
      'slow __entry__ cancelled true',
    ])
    expect(host.runningCount).equal(0)
  })

  it('registers, lists, runs and unregisters', async () => {
    const host = await makeHost()
    const info = await host.register({ ...agent('a'), description: 'Says it' })
    const { version, ...facts } = info
    expect(version).to.match(/^[0-9a-f]{64}$/)
    expect(facts).to.deep.equal({
      id: 'a',
      description: 'Says it',
      examples: [],
      entryPoints: [],
      attachments: [],
      takesClientTools: false,
      modules: [{ id: 'main', module: 'say', source: 'project', scope: 'instance' }],
    })
    expect(host.list()).to.deep.equal([info])
    const { runId, ...result } = await host.run('a', 'hi')
    expect(result).to.deep.equal({
      status: 'completed',
      pending: [],
      trail: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'v1:hi' },
      ],
      text: 'v1:hi',
      attachments: [],
      usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
      incompleteReason: undefined,
    })
    expect(runId).to.match(/^[0-9a-f-]{36}$/)
    host.unregister('a')
    expect(host.list()).to.deep.equal([])
    expect((await failure(host.run('a', 'hi'))).code).to.equal('AGENT_NOT_FOUND')
  })

  it('reports changes, even if another listener throws', async () => {
    const errors: string[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
    const host = await makeHost({ log })
    let changes = 0
    host.onChange(() => {
      throw new Error('bad listener')
    })
    const stop = host.onChange(() => void changes++)
    await host.register(agent('a'))
    await host.replace('a', agent('b'))
    host.unregister('b')
    expect([changes, host.list()]).to.deep.equal([3, []])
    expect(errors).to.deep.equal(Array(3).fill('A listener for changes of the agents failed: bad listener'))
    stop()
    await host.register(agent('a'))
    expect(changes).to.equal(3)
  })

  it('streams the answer in order', async () => {
    const host = await makeHost()
    await host.register(agent('a', 'slow'))
    const events: RunEvent[] = []
    await host.run('a', '1', { onEvent: (event) => void events.push(event) })
    expect(events).to.deep.equal([
      { type: 'text', text: 'begun' },
      { type: 'text', text: ' ended' },
      { type: 'end', status: 'completed', reason: undefined },
    ])
  })

  it('rejects a duplicate id, and an invalid definition with all its problems', async () => {
    const host = await makeHost()
    await host.register(agent('a'), { file: 'agents/a.yml' })
    const duplicate = await failure(host.register(agent('a')))
    expect([duplicate.code, duplicate.message]).to.deep.equal([
      'AGENT_DUPLICATE',
      "The id 'a' is taken by the agent in agents/a.yml.",
    ])
    await host.register(agent('c'))
    expect((await failure(host.register(agent('c')))).message).to.equal("The id 'c' is taken by another agent.")
    const wrong = await failure(host.register(agent('b', 'say', { config: { txt: 'x', text: 1 } })))
    expect(wrong.message.split('\n')).to.deep.equal([
      "module 'main' (say), config: The key 'txt' is not known.",
      "module 'main' (say), config: text must be a string.",
    ])
  })

  it('names the first problems of a config, and counts the others', async () => {
    const host = await makeHost()
    const config = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`k${n}`, 1]))
    const lines = (await failure(host.register(agent('b', 'say', { config })))).message.split('\n')
    expect([lines.length, lines.at(-1)]).to.deep.equal([21, "module 'main' (say), config: Further problems: 14980."])
  })

  it('rejects files outside the project, as modules and as tools, by their path and behind a link', async () => {
    const { dir } = await makeProject({
      'say.ts': MODULES['modules/say.ts'],
      't.ts': TOOL,
      't.py': 'def add(a: int) -> int:\n    """Adds."""\n    return a\n',
    })
    const project = await makeProject({ ...MODULES, 'tools/t.ts': TOOL })
    await symlink(dir, project.path('linked'))
    await symlink(project.path('tools'), project.path('inside'))
    const host = new AgentHost({ projectDir: project.dir })
    hosts.push(host)
    const away = relative(project.dir, dir)
    const withTools = (file: string) => ({
      id: 'tools',
      modules: [
        { id: 'main', module: 'say' },
        { id: 'tools', module: 'tools/local', config: { files: [file] } },
      ],
    })
    const refused: [string, object][] = [
      [`${away}/say.ts`, agent('a', `${away}/say.ts`)],
      [`./${away}/say.ts`, agent('a', `./${away}/say.ts`)],
      ['./linked/say.ts', agent('a', './linked/say.ts')],
      ...[`${away}/t.ts`, join(dir, 't.ts'), 'linked/t.ts', `${away}/t.py`, 'linked/t.py', `${away}/gone.py`].map(
        (file): [string, object] => [file, withTools(file)],
      ),
    ]
    for (const [file, definition] of refused) {
      const { message, suggestions } = await failure(host.register(definition))
      expect(message).to.contain(`'${file}' is outside the project folder.`)
      expect(message + suggestions).to.contain('Import it in a file of the project, and name that file.')
    }
    await host.register(agent('own', './modules/say.ts'))
    await host.register(withTools('inside/t.ts'))
  })

  it("reports an agent's error as the cause of AGENT_FAILED", async () => {
    const host = await makeHost()
    await host.register(agent('a', 'fail'))
    const error = await failure(host.run('a', 'hi'))
    expect([error.code, error.message, (error.cause as Error).message]).to.deep.equal([
      'AGENT_FAILED',
      'no luck',
      'no luck',
    ])
    await host.register(agent('b', 'broken'))
    expect((await failure(host.run('b', 'hi'))).message).to.equal(
      "Module 'main' (broken) provides 'ToolProvider', and what its create returned has no method 'listTools', 'executeTool'.",
    )
    expect(globals.hostTestLog).to.include('dispose broken')
  })

  it('answers a second after a module does not end to dispose, warns, and disposes the others', async () => {
    const warnings: string[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) }
    const host = await makeHost({ log })
    const own = { id: 'own', module: 'owned', config: { name: 'tool' } }
    await host.register({ id: 'a', modules: [{ id: 'main', module: 'stuck' }, own] })
    globals.hostTestLog?.splice(0)
    const startedMs = performance.now()
    const ends = await Promise.allSettled([host.run('a', 'go'), host.run('a', 'fail')])
    expect(performance.now() - startedMs).to.be.within(990, 1800)
    expect(ends.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected'])
    expect(globals.hostTestLog).to.deep.equal(['make tool', 'make tool', 'dispose tool', 'dispose tool'])
    const warning = "a: Module 'main' is not disposed after 1 s: its run no longer waits for it."
    expect(warnings).to.deep.equal([warning, warning])
  })

  it('creates instance-scoped modules per run and agent-scoped ones once, and disposes each at its end', async () => {
    const host = await makeHost()
    const modules = [
      { id: 'owner', module: 'owner' },
      { id: 'one', module: 'owned', config: { name: 'one' } },
      { id: 'two', module: 'owned', scope: 'agent', config: { name: 'two' } },
    ]
    await host.register({ id: 'a', modules })
    expect(globals.hostTestLog).to.deep.equal(['make two'])
    expect((await host.run('a', 'x')).text).to.equal('one,two')
    expect(globals.hostTestLog).to.deep.equal(['make two', 'make one', 'make owner', 'dispose owner', 'dispose one'])
    globals.hostTestLog?.splice(0)
    expect((await failure(host.run('a', 'fail'))).code).to.equal('AGENT_FAILED')
    expect(globals.hostTestLog).to.deep.equal(['make one', 'make owner', 'dispose owner', 'dispose one'])
    globals.hostTestLog?.splice(0)
    host.unregister('a')
    await eventually(() => expect(globals.hostTestLog).to.deep.equal(['dispose two']))
  })

  it('accepts overrides for one run, without changing the agent', async () => {
    const host = await makeHost()
    const modules = [
      { id: 'owner', module: 'owner' },
      { id: 'one', module: 'owned', config: { name: 'one' } },
    ]
    await host.register({ id: 'a', modules })
    const one = { listTools: () => [], executeTool: async () => ({ text: 'mine' }) }
    expect((await host.run('a', 'x', { overrides: { one } })).text).to.equal('mine')
    expect((await host.run('a', 'x')).text).to.equal('one')
    const error = await failure(host.run('a', 'x', { overrides: { ona: one } }))
    expect(error.message).to.equal("Agent 'a' has no module 'ona' to override.")
  })

  it('replaces an agent without a gap: a run in progress finishes on its version', async () => {
    const host = await makeHost()
    await host.register(agent('a', 'slow'))
    const old = host.run('a', '80')
    await host.replace('a', agent('a', 'say', { config: { text: 'v2' } }))
    expect((await host.run('a', 'hi')).text).to.equal('v2:hi')
    expect((await old).text).to.equal('begun ended')
    const error = await failure(host.replace('a', agent('a', 'nothing')))
    expect(error.code).to.equal('AGENT_INVALID')
    expect((await host.run('a', 'hi')).text).to.equal('v2:hi')
    await host.replace('a', agent('b'))
    expect(host.list().map(({ id }) => id)).to.deep.equal(['b'])
  })

  it('accepts modules as objects, and reports a definition that is not plain data', async () => {
    const host = await makeHost()
    const module = defineModule({
      name: 'Shout',
      provides: [TextMessageHandler],
      uses: { response: Response },
      create: ({ response }) => ({ handleText: async (text) => void (await response.respondText(text.toUpperCase())) }),
    })
    const info = await host.register({ id: 'a', modules: [{ id: 'main', module }] })
    expect(info.modules).to.deep.equal([{ id: 'main', module: 'Shout', source: 'program', scope: 'instance' }])
    expect((await host.run('a', 'hello')).text).to.equal('HELLO')
    const odd = { id: 'b', modules: [{ id: 'main', module: { name: 'Odd' } }] }
    expect((await failure(host.register(odd))).message).to.equal('modules[0].module must be a string.')
    const code = { id: 'c', modules: [{ id: 'main', module: 'say', config: { text: () => 'x' } }] }
    expect((await failure(host.register(code))).message).to.match(/^The definition must be plain data: .*cloned/)
  })

  it('accepts <agent>/<entry point>; an exact id takes precedence', async () => {
    const host = await makeHost()
    const entry = { module: '__entry__', protocol: 'TextMessageHandler', provider: ['x', 'y'] }
    const modules = ['x', 'y'].map((id) => ({ id, module: 'say', config: { text: id } }))
    await host.register({ id: 'a.b', modules, exchange: [entry] })
    await host.register(agent('a.b.y', 'say', { config: { text: 'exact' } }))
    const text = async (name: string, separator: '/' | '.') => {
      const messages = [{ role: 'user' as const, content: '' }]
      return (await host.start(name, { messages }, separator).result).text
    }
    expect(await text('a.b', '/')).to.equal('x:')
    expect(await text('a.b/y', '/')).to.equal('y:')
    expect(await text('a.b.x', '.')).to.equal('x:')
    expect(await text('a.b.y', '.')).to.equal('exact:')
    expect(() => host.resolve('a.b/z')).to.throw("There is no agent 'a.b/z'.")
  })

  it('refuses an unknown name at once, however long it is', async () => {
    const host = await makeHost()
    await host.register(agent('a'.repeat(100)))
    const spent = measureCpuTime()
    expect(() => host.resolve('a'.repeat(2_000_000))).to.throw(/^There is no agent 'a{2000000}'\.$/)
    expect(spent()).to.be.below(500)
  })

  it('aborts a run through its signal, without waiting for an agent that ignores it', async () => {
    const host = await makeHost()
    await host.register(agent('a', 'slow'))
    const controller = new AbortController()
    let text = ''
    const onEvent = (event: RunEvent) => {
      if (event.type === 'text') text += event.text
    }
    const run = failure(host.run('a', '5000', { signal: controller.signal, onEvent }))
    await eventually(() => expect(text).to.equal('begun'))
    const abortedMs = Date.now()
    controller.abort(new Error('enough'))
    const error = await run
    expect([error.code, (error.cause as Error).message]).to.deep.equal(['RUN_ABORTED', 'enough'])
    expect(Date.now() - abortedMs).to.be.below(4000)
    expect(globals.hostTestLog).to.deep.equal(['aborted'])
  })

  it('runs no code of an agent if the signal is already aborted', async () => {
    const host = await makeHost()
    await host.register(agent('a', 'owner'))
    const error = await failure(host.run('a', 'x', { signal: AbortSignal.abort(new Error('too late')) }))
    expect([error.code, (error.cause as Error).message]).to.deep.equal(['RUN_ABORTED', 'too late'])
    await setTimeout(20)
    expect(globals.hostTestLog).to.deep.equal([])
  })

  it('survives a failed run whose result nobody awaits', async () => {
    const host = await makeHost()
    await host.register(agent('a', 'fail'))
    const rejections: unknown[] = []
    const listener = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', listener)
    host.start('a', { messages: [{ role: 'user', content: 'x' }] })
    await setTimeout(20)
    process.off('unhandledRejection', listener)
    expect(rejections).to.deep.equal([])
  })

  it('ends a run whose listener throws, at any event', async () => {
    const host = await makeHost()
    await host.register(agent('slow', 'slow'))
    const count = async (_text: string, run: Run) => run.addUsage({ inputTokens: 1 })
    const counter = defineModule({
      name: 'Counter',
      provides: [TextMessageHandler],
      create: () => ({ handleText: count }),
    })
    await host.register({ id: 'counter', modules: [{ id: 'main', module: counter }] })
    const ends: string[] = []
    host.onRunEnd(({ status }) => ends.push(status))
    const failAt = (type: RunEvent['type']) => ({
      onEvent: (event: RunEvent) => {
        if (event.type === type) throw new Error(`no ${type}`)
      },
    })
    expect((await host.run('slow', '1', failAt('end'))).text).to.equal('begun ended')
    expect((await failure(host.run('counter', 'x', failAt('usage')))).message).to.equal('no usage')
    const handle = host.start('slow', { messages: [{ role: 'user', content: '9999' }], ...failAt('end') })
    await setTimeout(10)
    handle.abort()
    expect((await failure(handle.result)).code).to.equal('RUN_ABORTED')
    expect(ends).to.deep.equal(['completed', 'failed', 'cancelled'])
  })

  it('emits nothing after the end of a run that ignores its abort', async () => {
    const host = await makeHost()
    const [begun, aborted] = [deferred(), deferred()]
    const work = async (_text: string, run: Run) => {
      begun.resolve()
      await aborted.promise
      run.addUsage({ inputTokens: 1 })
    }
    const deaf = defineModule({ name: 'Deaf', provides: [TextMessageHandler], create: () => ({ handleText: work }) })
    await host.register({ id: 'a', modules: [{ id: 'main', module: deaf }] })
    const types: string[] = []
    const handle = host.start('a', {
      messages: [{ role: 'user', content: 'x' }],
      onEvent: ({ type }) => void types.push(type),
    })
    await begun.promise
    handle.abort()
    aborted.resolve()
    await eventually(() => expect(host.runningCount).to.equal(0))
    expect(types).to.deep.equal(['end'])
  })

  it('counts a run that ignores its abort until its code ends', async () => {
    const host = await makeHost({ maxConcurrentRuns: 1 })
    const [begun, over] = [deferred(), deferred()]
    const work = () => {
      begun.resolve()
      return over.promise
    }
    const deaf = defineModule({ name: 'Deaf', provides: [TextMessageHandler], create: () => ({ handleText: work }) })
    await host.register({ id: 'a', modules: [{ id: 'main', module: deaf }] })
    const handle = host.start('a', { messages: [{ role: 'user', content: 'x' }] })
    await begun.promise
    handle.abort()
    await failure(handle.result)
    expect(host.runningCount).to.equal(1)
    expect((await failure(host.run('a', 'x'))).code).to.equal('OVERLOADED')
    over.resolve()
    await eventually(() => expect(host.runningCount).to.equal(0))
    await host.run('a', 'x')
  })

  it('starts on the version that is currently registered', async () => {
    const host = await makeHost()
    const v1 = {
      modules: [
        { id: 'owner', module: 'owner' },
        { id: 'own', module: 'owned', scope: 'agent', config: { name: 'v1' } },
      ],
    }
    await host.register({ id: 'a', ...v1 })
    const { agent: seen, entryPoint } = host.resolve('a')
    expect([seen.id, entryPoint]).to.deep.equal(['a', '__entry__'])
    await host.replace('a', JSON.parse(JSON.stringify({ id: 'a', ...v1 }).replace('"v1"', '"v2"')))
    await eventually(() => expect(globals.hostTestLog).to.include('dispose v1'))
    const { text } = await host.start('a', { messages: [{ role: 'user', content: 'x' }] }).result
    expect(text).to.equal('v2')
    expect(() => host.start('gone', { messages: [] })).to.throw("There is no agent 'gone'.")
  })

  it("accepts one of two concurrent registrations of an id, and disposes the other's instances", async () => {
    const host = await makeHost()
    const results = await Promise.allSettled([host.register(owning('a', 'one')), host.register(owning('a', 'two'))])
    const lost = results
      .filter((result) => result.status === 'rejected')
      .map(({ reason }) => (reason as HostError).code)
    expect(lost).to.deep.equal(['AGENT_DUPLICATE'])
    const [winner, loser] = results[0]?.status === 'fulfilled' ? ['one', 'two'] : ['two', 'one']
    expect((await host.run('a', 'x')).text).to.equal(winner)
    expect(globals.hostTestLog).to.include(`dispose ${loser}`).and.not.include(`dispose ${winner}`)
  })

  it('keeps the agent in service if another takes its new id while it is replaced', async () => {
    const host = await makeHost()
    await host.register(agent('a'))
    const taken = host.register(owning('b', 'one'))
    expect((await failure(host.replace('a', owning('b', 'two')))).code).to.equal('AGENT_DUPLICATE')
    await taken
    expect(host.list().map(({ id }) => id)).to.deep.equal(['a', 'b'])
    expect(globals.hostTestLog).to.deep.equal(['make one', 'make two', 'dispose two'])
  })

  it('keeps no agent that was still loading when it closed', async () => {
    const host = await makeHost()
    await host.register(agent('a'))
    const late = [host.register(owning('b', 'one')), host.replace('a', owning('a', 'two'))].map(failure)
    await host.close(0)
    expect((await Promise.all(late)).map(({ code }) => code)).to.deep.equal(['SHUTTING_DOWN', 'SHUTTING_DOWN'])
    expect(globals.hostTestLog).to.include('dispose one').and.include('dispose two')
  })

  it('limits concurrent runs', async () => {
    const host = await makeHost({ maxConcurrentRuns: 1 })
    await host.register(agent('a', 'slow'))
    const first = host.run('a', '30')
    expect((await failure(host.run('a', '1'))).code).to.equal('OVERLOADED')
    await first
    expect((await host.run('a', '1')).text).to.equal('begun ended')
  })

  it('closes after the runs in progress, and aborts them at the deadline', async () => {
    const patient = await makeHost()
    await patient.register(agent('a', 'slow'))
    const ends = patient.run('a', '50')
    await patient.close(5000)
    expect((await ends).text).to.equal('begun ended')
    // Its agents are gone, which is no reason to fail a run that another can carry out.
    expect((await failure(patient.run('a', '1'))).code).to.equal('SHUTTING_DOWN')
    const strict = await makeHost()
    await strict.register(agent('a', 'slow'))
    const cut = failure(strict.run('a', '5000'))
    await strict.close(20)
    expect((await cut).code).to.equal('RUN_ABORTED')
  })

  it('keeps 5,000 parallel runs apart', async () => {
    const host = await makeHost()
    await host.register(agent('a'))
    const tokens = Array.from({ length: 5000 }, (_, index) => `token-${index}`)
    const answers = await Promise.all(tokens.map((token) => host.run('a', token)))
    expect(answers.map(({ text }) => text)).to.deep.equal(tokens.map((token) => `v1:${token}`))
  })

  it('rejects a response after the end, and one that is not text', async () => {
    const project = await makeProject({
      'modules/late.ts': `${HEAD}export default defineModule({ name: 'Late', provides: [TextMessageHandler], uses: { response: Response },
        create: ({ response }) => ({ handleText(text) {
          if (text === 'number') return response.respondText(1 as never)
          setTimeout(() => { try { response.respondText('late') } catch (error) { log.push(error.message) } }, 10)
        } }) })`,
    })
    const host = new AgentHost({ projectDir: project.dir })
    hosts.push(host)
    await host.register(agent('a', 'late'))
    expect((await host.run('a', 'x')).text).to.equal('')
    await eventually(() => expect(globals.hostTestLog).to.deep.equal(["Agent 'a' responds after its run has ended."]))
    expect((await failure(host.run('a', 'number'))).message).to.equal('respondText takes a string, not number.')
  })
})
