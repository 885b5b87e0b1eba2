import { createServer } from 'node:net'
import type { Worker } from 'node:worker_threads'
import { agentHost, buildServer, HostError, type ServerOptions } from 'agent-host'
import { expect } from 'chai'
import fastify from 'fastify'
import { openProject } from '../../src/assembly/open-project.ts'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const ECHO = 'id: echo\nmodules: [{ id: main, module: echo }]'
const BROKEN = `export class Broken { adapt() { throw new Error('no routes today') } }
export class Fine { adapt(app) { app.get('/fine', () => 'fine') } }`

/** Running threads that were started here. The engine starts others when it likes. */
const workers = new Set<Worker>()
const noteWorker = (worker: Worker) => {
  workers.add(worker)
  worker.once('exit', () => workers.delete(worker))
}

/** Threads and watched folders of this process: what a half-built server would leave behind. */
const held = () => ({
  threads: workers.size,
  watchers: process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length,
})

/** Those of earlier tests may end meanwhile. */
const whenReleased = (before: ReturnType<typeof held>) =>
  eventually(() => {
    const now = held()
    expect(now.threads).to.be.at.most(before.threads)
    expect(now.watchers).to.be.at.most(before.watchers)
  })

describe('openProject', () => {
  const lines: string[] = []
  const note = (line: string): void => void lines.push(line)
  const log = { debug: note, info: note, warn: note, error: note }
  const open = (options: Partial<ServerOptions>) =>
    openProject(resolveServerOptions({ logLevel: 'silent', drainTimeout: 0, ...options }), { log })

  beforeEach(() => {
    lines.length = 0
  })

  it('registers the agents, and unregisters them when closed', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const project = await open({ projectDir: dir, debug: true })
    expect((await project.host.run('echo', 'hi')).text).to.equal('hi')
    await eventually(() => expect(project.traces?.counts().written).to.be.above(0))
    await project[Symbol.asyncDispose]()
    expect(project.host.list()).to.deep.equal([])
    await project.close()
  })

  it('logs one line for code that several agents use', async () => {
    const own = (answer: string) => `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Own', provides: [TextMessageHandler], create: () => ({ handleText: async () => '${answer}' }) })`
    const uses = (id: string) => `id: ${id}\nmodules: [{ id: main, module: own }]`
    const agents = { 'agents/a.yml': uses('a'), 'agents/b.yml': uses('b') }
    const files = await makeProject({ ...agents, 'modules/own.ts': own('1') })
    const project = await open({ projectDir: files.dir })
    await project.watch()
    await files.write('modules/own.ts', own('2'))
    await eventually(() => expect(lines).to.deep.equal(["agents/a.yml, agents/b.yml: reloaded 'a', 'b'"]))
    await project.close()
  })

  it('logs changes of the files, even of one that never loaded', async () => {
    const files = await makeProject({ 'agents/echo.yml': ECHO, 'agents/x.yml': 'id: [' })
    const project = await open({ projectDir: files.dir })
    try {
      await project.watch()
      await files.remove('agents/x.yml')
      await files.remove('agents/echo.yml')
      await eventually(() =>
        expect(lines).to.include.members(['agents/x.yml: removed', "agents/echo.yml: removed 'echo'"]),
      )
    } finally {
      await project.close()
    }
  })
})

describe('a server that fails during its start', () => {
  before(() => process.on('worker', noteWorker))

  after(() => process.off('worker', noteWorker))

  const build = (projectDir: string, options: Partial<ServerOptions> = {}) =>
    buildServer({ projectDir, debug: true, port: 0, logLevel: 'silent', drainTimeout: 0, ...options })
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => new Error('It did not fail.'),
      (error: Error) => error,
    )

  before(async function () {
    if (process.platform !== 'linux') this.skip()
    // The first one starts what lives as long as the process: the file system's threads, the bundler.
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, 'adapters/broken.ts': BROKEN })
    const adapters = ['ResponsesCompatApiAdapter', './adapters/broken.ts#Fine']
    const server = await build(dir, { adapters })
    await server.listen()
    await server.close()
  })

  it('leaves no thread and no lock when an adapter fails', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, 'adapters/broken.ts': BROKEN })
    const before = held()
    for (let round = 0; round < 2; round++) {
      const adapters = ['ResponsesCompatApiAdapter', './adapters/broken.ts#Broken']
      expect((await failure(build(dir, { adapters }))).message).to.equal(
        "The adapter 'Broken' failed to start: no routes today",
      )
    }
    await whenReleased(before)
    const server = await build(dir, { adapters: ['ResponsesCompatApiAdapter'] })
    await server.close()
  })

  it('leaves no thread and no lock when an adapter fails inside an app', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, 'adapters/broken.ts': BROKEN })
    const before = held()
    const adapters = ['ResponsesCompatApiAdapter', './adapters/broken.ts#Broken']
    const app = fastify()
    app.register(agentHost, { projectDir: dir, debug: true, drainTimeout: 0, adapters })
    expect((await failure(Promise.resolve(app.ready()))).message).to.equal(
      "The adapter 'Broken' failed to start: no routes today",
    )
    // Fastify leaves it to the owner of the app to close what its plugins had opened.
    await app.close()
    await whenReleased(before)
  })

  it('leaves no thread when the project cannot be opened', async () => {
    const { dir } = await makeProject()
    const before = held()
    for (let round = 0; round < 2; round++) {
      const error = await failure(build(dir))
      expect(error).to.be.instanceOf(HostError).and.include({ code: 'PROJECT_INVALID' })
    }
    await whenReleased(before)
  })

  it('leaves no thread and no watcher when its port is taken', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    try {
      const { port } = other.address() as { port: number }
      const before = held()
      for (let round = 0; round < 2; round++) {
        const server = await build(dir, { port, adapters: ['ResponsesCompatApiAdapter'] })
        expect(await failure(server.listen())).to.include({ code: 'EADDRINUSE' })
      }
      await whenReleased(before)
    } finally {
      other.close()
    }
  })
})
