import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { proveWorkerKills } from '../support/kill-workers.ts'
import { type Json, RESPONSES_PROJECT, textOf } from '../support/responses.ts'
import { HEADERS, startResponses } from '../support/responses-process.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

describe('worker', function () {
  this.timeout(60_000)
  afterEach(killRunning)

  it('runs responses of servers without workers, serves only probes, and exits with 0 on SIGTERM', async () => {
    const { dir } = await makeProject(RESPONSES_PROJECT)
    const front = await startResponses(dir, ['--no-worker'])
    const { json: begun } = await front.ask('', { model: 'talk', input: 'count 3', background: true })
    const worker = startCli(['worker', '--concurrency', '2'], { cwd: dir })
    const [, url] = await worker.printed(/listening at (http:\/\/[\d.:]+)/)
    await eventually(async () => expect((await front.ask(`/${begun.id}`)).json.status).to.equal('completed'))
    expect((await fetch(`${url}/readyz`)).status).to.equal(200)
    expect((await fetch(`${url}/compat/responses/${begun.id}`)).status).to.equal(404)
    expect(await worker.stop()).to.equal(0)
    expect(worker.output()).to.not.include('without a key')
  })

  it('returns unstarted runs to the queue when stopped, and another worker takes them', async () => {
    const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...SILENT })
    const front = await startResponses(dir, ['--no-worker'])
    const worker = startCli(['worker', '--drain-timeout', '0'], { cwd: dir })
    await worker.printed(/listening/)
    const { json: begun } = await front.ask('', { model: 'silent', input: 'hi', background: true })
    await worker.printed(/silent begun/)
    expect(await worker.stop()).to.equal(0)
    expect((await front.ask(`/${begun.id}`)).json.status).to.equal('in_progress')
    const next = startCli(['worker'], { cwd: dir })
    await next.printed(/silent begun/)
  })

  it('when killed, each of its runs ends once: those without output restart elsewhere', async () => {
    const outcomes = await proveWorkerKills({ store: 'sqlite', kills: 1, runs: 30 })
    expect(outcomes).to.include({ 'quiet completed': 24 })
    expect(outcomes['begun again']).to.be.greaterThan(0)
  })

  it('rejects a store for a single server', async () => {
    const { dir } = await makeProject(RESPONSES_PROJECT)
    for (const args of [['worker'], ['serve', '--processes', '2', '--port', '0']]) {
      const { exitCode, stderr } = await runCli([...args, '--store', 'keyv-sqlite:a.db'], { cwd: dir })
      expect(exitCode).to.equal(2)
      expect(stderr).to.match(/^Error: .* needs a store that several processes can share, and keyv-sqlite is for one\./)
    }
  })
})

describe('serve --processes', function () {
  this.timeout(60_000)
  afterEach(killRunning)

  it('serves one port from several processes, replaces one that dies, and stops all on SIGTERM', async () => {
    const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...WHERE })
    const server = await startResponses(dir, ['--processes', '2'])
    const seen = new Set<string>()
    /** Connections go to the processes in turn. */
    const untilSeen = (count: number) =>
      eventually(async () => {
        seen.add(textOf(await askAlone(server.url, { model: 'where', input: 'hi' })))
        expect(seen.size).to.equal(count)
      }, 25_000)
    await untilSeen(2)
    const [victim] = [...seen]
    process.kill(Number(victim), 'SIGKILL')
    await untilSeen(3)
    expect(await server.stop()).to.equal(0)
    for (const pid of seen) expect(() => process.kill(Number(pid), 0)).to.throw('ESRCH')
  })

  it('exits with 1 if its port is in use', async () => {
    const { dir } = await makeProject(RESPONSES_PROJECT)
    const first = await startResponses(dir)
    const port = new URL(first.url).port
    const { exitCode, stderr } = await runCli(['serve', '--processes', '2', '--port', port], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.include(`Port ${port} is in use.`)
  })
})

/** Asks over a connection of its own. One that was handed to a process just before it died is never answered. */
function askAlone(url: string, body: object): Promise<Json> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(2000)
    const asked = request(url, { method: 'POST', headers: HEADERS, agent: false, signal }, (answer) => {
      json(answer).then(resolve, reject)
    })
    asked.on('error', reject).end(JSON.stringify(body))
  })
}

const AGENT = (name: string) => ({ [`agents/${name}.yml`]: `id: ${name}\nmodules: [{ id: main, module: ${name} }]` })

const SILENT = {
  ...AGENT('silent'),
  'modules/silent.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Silent', provides: [TextMessageHandler],
  create: () => ({ async handleText() { console.log('silent begun'); await new Promise(() => {}) } }) })`,
}

const WHERE = {
  ...AGENT('where'),
  'modules/where.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Where', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { await response.respondText(String(process.pid)) } }) })`,
}
