import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { auditLines } from '../support/audit.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { FORGET_KEYS, filesWith } from '../support/forget-walk.ts'
import { proveWorkerKills } from '../support/kill-workers.ts'
import { type Json, RESPONSES_PROJECT, textOf } from '../support/responses.ts'
import { HEADERS, startResponses } from '../support/responses-process.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { chat } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'
import { Visitor } from '../support/tenant-visitor.ts'

describe('worker', () => {
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

  it('writes an audit log, and does not start where it cannot', async () => {
    const { dir, path } = await makeProject(RESPONSES_PROJECT)
    const front = await startResponses(dir, ['--no-worker'])
    const worker = startCli(['worker', '--audit-log', 'audit.jsonl'], { cwd: dir })
    await worker.printed(/listening/)
    const { json: begun } = await front.ask('', { model: 'talk', input: 'count 3', background: true })
    await eventually(async () => expect((await front.ask(`/${begun.id}`)).json.status).to.equal('completed'))
    expect(await worker.stop()).to.equal(0)
    const acts = auditLines(path('audit.jsonl')).filter(({ event }) => event !== 'agent')
    const run_id = begun.id.slice('resp_'.length)
    expect(acts.map(({ event, run_id, status }) => [event, run_id, status])).to.deep.equal([
      ['start', undefined, undefined],
      ['run_begin', run_id, undefined],
      ['run_end', run_id, 'completed'],
    ])
    const { exitCode, stderr } = await runCli(['worker', '--audit-log', 'none/audit.jsonl'], { cwd: dir })
    expect([exitCode, stderr.startsWith('Error: --audit-log: ')], stderr).to.deep.equal([2, true])
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
    expect(outcomes).to.include({ 'quiet answered': 24 })
    expect(outcomes['begun again']).to.be.greaterThan(0)
    // Longer than it waits for the ends of all runs.
  }).timeout(120_000)

  it('rejects a store for a single server', async () => {
    const { dir } = await makeProject(RESPONSES_PROJECT)
    for (const args of [['worker'], ['serve', '--processes', '2', '--port', '0']]) {
      const { exitCode, stderr } = await callCli([...args, '--store', 'keyv-sqlite:a.db'], { cwd: dir })
      expect(exitCode).to.equal(2)
      expect(stderr).to.match(/^Error: .* needs a store that several processes can share, and keyv-sqlite is for one\./)
    }
  })
})

describe('serve --processes', () => {
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

  it('has all processes read the agents again on SIGHUP, with --no-watch', async () => {
    const module = WHERE['modules/where.ts']
    // One of them still starts, and has read the files.
    const slow = `import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
while (cluster.worker?.id === 2 && !existsSync('go')) await setTimeout(20)
${module}`
    const { dir, write } = await makeProject({ ...RESPONSES_PROJECT, ...WHERE, 'modules/where.ts': slow })
    const server = await startResponses(dir, ['--processes', '2', '--no-watch'])
    await write('modules/where.ts', module.replace('String(process.pid)', "'again ' + process.pid"))
    server.signal('SIGHUP')
    await write('go', '')
    const seen = new Set<string>()
    await eventually(async () => {
      seen.add(textOf(await askAlone(server.url, { model: 'where', input: 'hi' })))
      expect([...seen].filter((text) => text.startsWith('again ')).length).to.equal(2)
    }, 25_000)
    expect(await server.stop()).to.equal(0)
  })

  it('loses no stop that comes while a process listens at one of two addresses', async () => {
    const early = `import cluster from 'node:cluster'
import dns from 'node:dns'
import { existsSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
const { lookup } = dns
if (cluster.isWorker) dns.lookup = async (...args) => {
  // Not that of the first address, which some versions of Node look up in this way, too.
  if (args[1]?.all && !new Error().stack.includes('node:net')) {
    while (!existsSync('sent')) await setImmediate()
    // The next turns of the loop read what was sent.
    for (let turn = 0; turn < 3; turn++) await setImmediate()
  }
  lookup(...args)
}
cluster.once('listening', (worker) => {
  const send = worker.send.bind(worker)
  worker.send = (message) => send(message, () => writeFileSync('sent', ''))
  process.kill(process.pid, 'SIGTERM')
})`
    const { dir, path } = await makeProject({ 'early.mjs': early, 'agents/.keep': '' })
    const args = ['serve', '--processes', '2', '--host', 'localhost', '--port', '0', '--no-watch']
    const server = startCli(args, { cwd: dir, env: { NODE_OPTIONS: `--import=${path('early.mjs')}` } })
    await server.printed(/Stopping/)
    expect(await server.ended()).to.equal(0)
  })

  it('ends the runs of a user in each process, and leaves nothing of them, when their data is deleted', async () => {
    const { dir } = await makeProject({
      'keys.yml': FORGET_KEYS,
      'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]',
      'modules/slow.ts': `import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await response.respondText('heard ' + text)
    appendFileSync('busy', process.pid + ' ')
    await setTimeout(60_000, undefined, { signal: run.signal })
  } }) })`,
    })
    const args = ['serve', '--processes', '2', '--port', '0', '--adapter', 'ChatCompatApiAdapter', '--keys', 'keys.yml']
    const server = startCli([...args, '--debug-ui', '--record', '1'], { cwd: dir })
    const [, url = ''] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    const acme = new Visitor(url, 'acme', 'acme')
    const begun = () => (existsSync(join(dir, 'busy')) ? readFileSync(join(dir, 'busy'), 'utf8').trim().split(' ') : [])
    const asked: Promise<unknown>[] = []
    // Connections go to the processes in turn, as soon as both listen.
    while (new Set(begun()).size < 2) {
      asked.push(acme.ask('POST', '/v1/chat/completions', chat('slow', 'canary', { user: 'ada' })).catch(() => {}))
      await eventually(() => expect(begun().length).to.equal(asked.length), 20_000)
    }
    const { status, json: forgotten } = await acme.ask('POST', '/forget', { user: 'ada' })
    expect([status, forgotten.runs_ended, forgotten.left]).to.deep.equal([200, asked.length, []])
    await Promise.all(asked)
    expect(await server.stop()).to.equal(0)
    expect(filesWith(dir, 'canary')).to.deep.equal([])
  }).timeout(60_000)

  it('tries a replacement that cannot start again, while the others serve', async () => {
    const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...WHERE })
    const server = await startResponses(dir, ['--processes', '2'])
    const seen = new Set<string>()
    const untilSeen = (count: number) =>
      eventually(async () => {
        seen.add(textOf(await askAlone(server.url, { model: 'where', input: 'hi' })))
        expect(seen.size).to.equal(count)
      }, 40_000)
    await untilSeen(2)
    mkdirSync(join(dir, '.env'))
    process.kill(Number([...seen][0]), 'SIGKILL')
    await server.printed(
      /Error: Cannot read \.env[\s\S]*Warning: A process could not start\. It is tried again in 2 s\./,
    )
    expect(seen).to.include(textOf(await askAlone(server.url, { model: 'where', input: 'hi' })))
    await server.printed(/It is tried again in 4 s\./)
    rmdirSync(join(dir, '.env'))
    await untilSeen(3)
    expect(await server.stop()).to.equal(0)
  }).timeout(120_000)

  it('drains the others and exits with 1 if one cannot start at first', async () => {
    const { dir, path } = await makeProject({
      ...RESPONSES_PROJECT,
      'adapters/picky.ts': `import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export class PickyAdapter {
  async adapt() {
    if (cluster.worker.id !== 2) return
    while (!existsSync('busy')) await setTimeout(50)
    throw new Error('not today')
  }
}`,
      ...AGENT('slow'),
      'modules/slow.ts': `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() {
    writeFileSync('busy', '')
    while (!existsSync('stopping')) await setTimeout(50)
    await response.respondText('done')
  } }) })`,
    })
    const args = [
      'serve',
      '--adapter',
      'ResponsesCompatApiAdapter,adapters.picky.PickyAdapter',
      '--processes',
      '2',
      '--port',
      '0',
    ]
    const server = startCli(args, { cwd: dir })
    const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    const body = JSON.stringify({ model: 'slow', input: 'hi' })
    const answer = fetch(`${url}/compat/responses`, { method: 'POST', headers: HEADERS, body }).then((reply) =>
      reply.json(),
    )
    await server.printed(/not today/)
    await server.printed(/Stopping: running work/)
    writeFileSync(path('stopping'), '')
    expect(textOf((await answer) as Json)).to.equal('done')
    expect(await server.ended()).to.equal(1)
  }).timeout(90_000)

  it('lets the others finish what they do when the first process is killed', async () => {
    const { dir, write } = await makeProject({
      ...RESPONSES_PROJECT,
      ...AGENT('slow'),
      'modules/slow.ts': `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() {
    console.log('busy')
    while (!existsSync('go')) await setTimeout(20)
    await response.respondText('done')
  } }) })`,
    })
    const server = await startResponses(dir, ['--processes', '2'])
    const answer = askAlone(server.url, { model: 'slow', input: 'hi' })
    await server.printed(/^busy$/m)
    server.signal('SIGKILL')
    await Promise.race([server.printed(/Stopping: running work/), answer])
    await write('go', '')
    expect(textOf(await answer)).to.equal('done')
    // They share its output: it ends with the last of them.
    expect(await server.ended()).to.equal(null)
  }).timeout(60_000)

  it('MCP conversations and waiting calls continue in any process', async () => {
    const { dir } = await makeProject({ ...MCP_WHERE, ...SHOP_MODULES, 'agents/shop.yml': SHOP })
    const server = startCli(['serve', '--adapter', 'McpApiAdapter', '--processes', '2', '--port', '0'], { cwd: dir })
    const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    const ask = (args: object) =>
      askAlone(`${url}/mcp`, {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'where', arguments: args },
      })
    const seen = new Set<string>()
    let conversation_id: string | undefined
    for (let turns = 1; seen.size < 2 || turns < 4; turns++) {
      const { result } = await ask({ message: 'hi', ...(conversation_id && { conversation_id }) })
      const [pid, messages] = result.content[0].text.split(' ')
      expect(Number(messages)).to.equal(2 * turns - 1)
      seen.add(pid)
      conversation_id = /^conversation_id: (.*)$/.exec(result.content[1].text)?.[1]
    }
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect(`${url}/mcp`)))
    for (const client of clients) {
      const { content } = await client.callTool({ name: 'shop', arguments: { message: 'pay' } })
      expect(content).to.deep.equal([{ type: 'text', text: 'Results: pay 40' }])
      await client.close()
    }
    expect(readFileSync(join(dir, 'paid.txt'), 'utf8')).to.equal('pay 40\n'.repeat(4))
    expect(await server.stop()).to.equal(0)
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

/** A client whose user approves everything. Each of its requests has a connection of its own, and so goes to the next process. */
async function connect(url: string): Promise<Client> {
  const capabilities = { elicitation: { form: {} } }
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities, versionNegotiation: { mode: 'auto' } })
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }) as never)
  const requestInit = { headers: { connection: 'close' } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

const AGENT = (name: string) => ({ [`agents/${name}.yml`]: `id: ${name}\nmodules: [{ id: main, module: ${name} }]` })

const SILENT = {
  ...AGENT('silent'),
  'modules/silent.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Silent', provides: [TextMessageHandler],
  create: () => ({ async handleText() { console.log('silent begun'); await new Promise(() => {}) } }) })`,
}

const SHOP = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }')

const MCP_WHERE = {
  'agents/where.yml': 'id: where\nconversation: true\nmodules: [{ id: main, module: where }]',
  'modules/where.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Where', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText() {
    await response.respondText(process.pid + ' ' + (await history.getHistory()).length)
  } }) })`,
}

const WHERE = {
  ...AGENT('where'),
  'modules/where.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Where', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() { await response.respondText(String(process.pid)) } }) })`,
}
