import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { AgentHost, type ModuleContext, memoryStorage, type ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { z } from 'zod'
import mcp from '../../../modules/tools/mcp.ts'
import { describeToolProvider } from '../../suites/tool-provider-suite.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { eventually } from '../../support/eventually.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { runNode } from '../../support/run-cli.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const file = (name: string) => fileURLToPath(new URL(`../../support/${name}`, import.meta.url))
const storage = memoryStorage().storageOf({ agentId: 'test', moduleId: 'tools' })
const GOOD = { command: process.execPath, args: [file('mcp-tool-server.js')] }
const bad = (how: string) => ({ command: process.execPath, args: [file('bad-mcp-server.js'), how] })

type Provider = ToolProvider & { [Symbol.asyncDispose](): Promise<void> }

describe('tools/mcp', () => {
  const open: Provider[] = []
  const http: ChildProcess[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((provider) => provider[Symbol.asyncDispose]()))
    for (const child of http.splice(0)) child.kill('SIGKILL')
    await closeServers()
  })

  async function make(byName: object, more: object = {}, facts: Partial<ModuleContext> = {}) {
    const servers = Object.entries(byName).map(([name, server]) => ({ name, ...server }))
    const config = Value.Default(mcp.config, { servers, ...more }) as Parameters<typeof mcp.create>[1]
    const context = makeContext({ environment: process.env, ...facts })
    const provider = (await mcp.create({ storage }, config, context)) as Provider
    open.push(provider)
    const names = async () => (await provider.listTools(makeRun())).map(({ name }) => name)
    const call = async (name: string, args: object = {}, run = makeRun()) => {
      const result = await provider.executeTool(name, args as Record<string, unknown>, run).catch((e: Error) => e)
      return result instanceof Error ? `! ${result.message}` : result.text
    }
    return { provider, names, call, lines: context.lines as string[] }
  }

  async function startHttp(port = 0): Promise<{ url: string; child: ChildProcess; port: number }> {
    const child = spawn(process.execPath, [file('mcp-tool-server.js'), '--http', String(port)], { stdio: 'pipe' })
    http.push(child)
    const [line] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
    const taken = Number(String(line))
    return { url: `http://127.0.0.1:${taken}`, child, port: taken }
  }

  for (const how of ['backtracks', 'doubles']) {
    it(`is not held up by a server whose schema ${how}`, async () => {
      const { call, lines } = await make({ bad: bad(how) })
      const spentMs = measureCpuTime()
      expect(await call('add', { a: `${'a'.repeat(40)}!` })).to.equal('fine')
      expect(await call('add', { a: `${'a'.repeat(40)}!` })).to.equal('fine')
      expect(spentMs()).to.be.below(1500)
      expect(lines.filter((line) => line.includes('takes too long to check'))).to.have.length(1)
    })
  }

  it('fills in defaults before arguments are checked, and sends what its server may accept', async () => {
    const { call } = await make({ bad: bad('defaults') })
    expect(await call('add')).to.equal('{"scale":"css"}')
    expect(await call('add', { scale: 'paper' })).to.equal('{"scale":"paper"}')
  })

  describe('over stdio', () => {
    describeToolProvider(async () => (await make({ good: GOOD })).provider)

    it('starts a server with basic and configured variables, in its folder', async () => {
      const environment = { PATH: process.env.PATH, HOME: '/home/x', SECRET_KEY: 'secret' }
      const { call } = await make({ good: { ...GOOD, env: { TOKEN: 't' }, cwd: 'test' } }, {}, { environment })
      const seen = JSON.parse(await call('env'))
      expect(seen).to.deep.include({ HOME: '/home/x', TOKEN: 't' })
      expect(Object.keys(seen)).to.not.include('SECRET_KEY')
      expect(await call('where')).to.match(/\/test \d+$/)
    })

    it('stops the process with the agent, and restarts it when it exits', async () => {
      const { call, provider } = await make({ good: GOOD })
      const pid = Number((await call('where')).split(' ')[1])
      expect(await call('exit')).to.match(/^! The tool 'exit' of the MCP server 'good' failed: /)
      await eventually(async () => expect(await call('add', { a: 1, b: 2 })).to.equal('3'))
      const next = Number((await call('where')).split(' ')[1])
      expect(next).to.not.equal(pid)
      await provider[Symbol.asyncDispose]()
      await eventually(() => expect(isAlive(next)).to.equal(false), 3000)
    })
  })

  it('leaves no process behind when its agent is replaced, removed, or the host closes', async () => {
    const { dir } = await makeProject({
      'modules/ask.ts': `import { defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
        export default defineModule({ name: 'Ask', provides: [TextMessageHandler], uses: { response: Response, tools: ToolProvider },
          create: ({ response, tools }) => ({ async handleText(_text, run) { await response.respondText((await tools.executeTool('where', {}, run)).text) } }) })`,
    })
    const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH } })
    const agent = (id: string) => ({
      id,
      modules: [
        { id: 'tools', module: 'tools/mcp', config: { servers: [{ name: 'good', ...GOOD }] } },
        { id: 'ask', module: 'ask' },
      ],
    })
    const pidOf = async (id: string) => Number((await host.run(id, 'where')).text.split(' ')[1])
    const gone = (pid: number) => eventually(() => expect(isAlive(pid)).to.equal(false), 3000)
    await host.register(agent('a'))
    const first = await pidOf('a')
    await host.replace('a', agent('a'))
    const second = await pidOf('a')
    expect(second).to.not.equal(first)
    await gone(first)
    host.unregister('a')
    await gone(second)
    await host.register(agent('b'))
    const third = await pidOf('b')
    await host.close(0)
    await gone(third)
  })

  it('leaves no process behind when its own process is killed', async () => {
    const line = new URL('../../../modules/tools/lib/line-child.ts', import.meta.url).href
    const code = `import { LineChild } from ${JSON.stringify(line)}
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const [command, ...args] = [process.execPath, '-e', 'process.on("SIGTERM", () => {}); console.log(process.pid); setInterval(() => {}, 1000)']
      new LineChild({ command, args, cwd: '.', env: {}, log, maxLineChars: 100, onExit() {}, onLine(pid) { console.log(pid); process.exit(0) } })`
    const { stdout, exitCode } = await runNode(['--import=tsx', '--input-type=module', '-e', code])
    expect(exitCode).to.equal(0)
    await eventually(() => expect(isAlive(Number(stdout))).to.equal(false), 3000)
  })

  describe('over HTTP', () => {
    it('calls tools, with headers and a token', async () => {
      const { url } = await startHttp()
      const { call } = await make({ web: { url: `${url}/mcp`, bearer: 'token-1' } })
      expect(await call('add', { a: 1, b: 2 })).to.equal('3')
      const seen = (await (await fetch(`${url}/seen`)).json()) as string[]
      expect(new Set(seen.slice(0, -1))).to.deep.equal(new Set(['Bearer token-1']))
    })

    it('drops its tools while the server is down, and lists them again afterwards', async () => {
      const { url, child, port } = await startHttp()
      const { call, names, lines } = await make({ web: { url: `${url}/mcp` }, local: { ...GOOD, prefix: 'local_' } })
      expect(await call('add', { a: 1, b: 2 })).to.equal('3')
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(await call('add', { a: 1, b: 2 })).to.match(/^! .*'web'/)
      await eventually(async () => expect(await names()).to.not.include('add'))
      expect(await call('local_add', { a: 1, b: 2 })).to.equal('3')
      // Two attempts.
      await sleep(1600)
      await startHttp(port)
      await eventually(async () => expect(await call('add', { a: 1, b: 2 })).to.equal('3'), 15_000)
      const said = lines.filter((line) => line.includes('reached'))
      expect(said.map((line) => line.replace(/:\d+/, ''))).to.deep.equal([
        "warn The MCP server 'web' cannot be reached: connect ECONNREFUSED 127.0.0.1. Next attempt in 1 s, later ones up to 30 s apart.",
        "info The MCP server 'web' can be reached now.",
      ])
    })

    it('uses SSE with servers of 2024', async () => {
      const transports = new Map<string, SSEServerTransport>()
      const web = createHttpServer(async (incoming, outgoing) => {
        const { pathname, searchParams } = new URL(incoming.url as string, 'http://x')
        if (pathname !== '/sse')
          return transports.get(searchParams.get('sessionId') ?? '')?.handlePostMessage(incoming, outgoing)
        const server = new OldServer({ name: 'old', version: '1.0.0' })
        server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
          content: [{ type: 'text', text: String(a + b) }],
        }))
        const transport = new SSEServerTransport('/messages', outgoing)
        transports.set(transport.sessionId, transport)
        await server.connect(transport)
      }).listen(0, '127.0.0.1')
      await once(web, 'listening')
      const { port } = web.address() as { port: number }
      const { call, provider } = await make({ old: { url: `http://127.0.0.1:${port}/sse`, transport: 'sse' } })
      expect(await call('add', { a: 1, b: 2 })).to.equal('3')
      await provider[Symbol.asyncDispose]()
      web.closeAllConnections()
      web.close()
    })

    it('calls agents of another agent-host, with progress', async () => {
      const steps = `import { defineModule, Response, TextMessageHandler } from 'agent-host'
        export default defineModule({ name: 'Steps', provides: [TextMessageHandler], uses: { response: Response },
          create: ({ response }) => ({ async handleText(text, run) { run.reportProgress('on it'); await new Promise((r) => setTimeout(r, 50)); await response.respondText('did ' + text) } }) })`
      const { listen } = await makeServer(
        { adapters: ['McpApiAdapter'], mcpApiKey: 'k-1' },
        { 'agents/steps.yml': 'id: steps\nmodules: [{ id: m, module: steps }]', 'modules/steps.ts': steps },
      )
      const { call } = await make({ other: { url: `${await listen()}/mcp`, bearer: 'k-1', include: ['steps'] } })
      const run = makeRun()
      expect(await call('steps', { message: 'it' }, run)).to.equal('did it')
      expect(run.progress[0]).to.equal('on it')
    })
  })

  it('returns every kind of content', async () => {
    const { provider } = await make({ good: GOOD })
    const { text, attachments, data } = await provider.executeTool('content', {}, makeRun())
    expect(text).to.equal(
      'see\n[image: image/png]\n[audio: audio/wav]\n[X](https://example.test/x)\nwritten\n[file: file:///b.bin]\n{"n":1}',
    )
    expect(data).to.deep.equal({ n: 1 })
    expect(
      attachments?.map(({ mediaType, name, data: bytes }) => [mediaType, name, [...(bytes as Uint8Array)]]),
    ).to.deep.equal([
      ['image/png', undefined, [1, 2, 3]],
      ['audio/wav', undefined, [4]],
      ['application/zip', 'b.bin', [5]],
    ])
    expect(await provider.executeTool('fail', {}, makeRun())).to.deep.equal({ text: 'out of order', isError: true })
  })

  it('includes and excludes tools, under names that models accept', async () => {
    const { names, call, lines } = await make({
      a: { ...GOOD, include: ['add', 'dotted.name'], prefix: 'a.' },
      b: { ...GOOD, exclude: ['content', 'env', 'where', 'work', 'hang', 'exit', 'grow', 'fail'] },
      c: { ...GOOD, include: ['add'] },
    })
    expect(await names()).to.deep.equal(['a_add', 'a_dotted_name', 'add', 'dotted_name'])
    expect(await call('a_dotted_name')).to.equal('dotted')
    expect(lines.join()).to.contain("'b' and 'c' both have a tool 'add'")
  })

  it('warns about names in include that its server does not have', async () => {
    const { lines } = await make({ a: { ...GOOD, include: ['add', 'ad', 'nope'] } })
    expect(lines.filter((line) => line.includes('include'))[0]).to.match(
      /^warn `include` names 'ad', 'nope', which the MCP server 'a' does not have\. It has: .*\badd\b/,
    )
  })

  it('reports progress, which keeps a long call from timing out', async () => {
    const { call } = await make({ good: { ...GOOD, timeout: 1 } })
    const run = makeRun()
    expect(await call('work', { ms: 500 }, run)).to.equal('worked')
    expect(run.progress).to.deep.equal(['1 of 3', 'half', '3 of 3'])
    expect(await call('hang')).to.equal("! The tool 'hang' said nothing for 1 s.")
  })

  it('times out a call that reports progress forever', async () => {
    const { call } = await make({ good: { ...GOOD, timeout: 0.5, total_timeout: 0.6 } })
    expect(await call('work', { ms: 400 })).to.equal("! The tool 'work' took longer than 0.6 s.")
  })

  it('tells the server when the run is aborted', async () => {
    const { call, lines } = await make({ good: GOOD })
    const run = makeRun()
    const calling = call('hang', {}, run)
    await eventually(() => expect(lines.join()).to.contain('hang began'))
    run.abort(new Error('enough'))
    expect(await calling).to.equal('! enough')
    await eventually(() => expect(lines.join()).to.contain('hang was aborted'))
  })

  it('picks up tools that appear later', async () => {
    for (const server of [GOOD, { url: `${(await startHttp()).url}/mcp` }]) {
      const { call, names } = await make({ good: server })
      expect(await names()).to.not.include('more')
      await call('grow')
      await eventually(async () => expect(await names()).to.include('more'))
    }
  })

  it('explains an invalid config', async () => {
    const failure = async (server: object) => {
      const config = Value.Default(mcp.config, { servers: [{ name: 'x', ...server }] }) as Parameters<
        typeof mcp.create
      >[1]
      return (mcp.create({ storage }, config, makeContext()) as Promise<unknown>).catch((error: Error) => error.message)
    }
    expect(await failure({})).to.equal("The server 'x' needs either a command or a url.")
    expect(await failure({ command: 'a', url: 'http://b' })).to.equal("The server 'x' needs either a command or a url.")
    const secret = await failure({ url: 'http://ann:canary@b/mcp' })
    expect(secret).to.equal("The url of the server 'x' has a user name or a password: give them as headers or bearer.")
    expect(await failure({ url: 'http://b/mcp', headers: { 'x-a': '1', 'transfer-encoding': 'chunked' } })).to.equal(
      "The server 'x': the header 'transfer-encoding' is set by HTTP itself. Leave it out.",
    )
    expect(await failure({ url: 'http://b/mcp', headers: { ' Host': 'c' } })).to.equal(
      'The server \'x\': " Host" is not the name of a header.',
    )
    for (const [header, fields] of [
      ['x-a', { headers: { 'x-a': 'can\nary' } }],
      ['authorization', { bearer: 'can\nary' }],
    ] as const)
      expect(await failure({ url: 'http://b/mcp', ...fields })).to.equal(
        `The server 'x': the value of the header '${header}' has a character that no header can have, such as a line break.`,
      )
    // Names are parts of the keys that sign-ins are kept under.
    const takes = (name: string) =>
      Value.Check(mcp.config, Value.Default(mcp.config, { servers: [{ name, url: 'http://b' }] }))
    expect(['x', 'a/b', '../x', 'x\n', 'é', ''].filter(takes)).to.deep.equal(['x'])
  })

  describe('with a server that', () => {
    const withGood = (server: object) =>
      make({ bad: { prefix: 'bad_', ...server }, good: GOOD }, { connect_timeout: 1 })

    it('is missing, silent, or exits at once: only its own tools are missing', async () => {
      const port = await freePort()
      const unreachable = "The MCP server 'bad' cannot be reached: "
      const cases: readonly (readonly [server: object, expected: RegExp])[] = [
        [
          { command: 'no-such-program-anywhere' },
          RegExp(`${unreachable}the program could not be started: .*ENOENT\\.`),
        ],
        [
          { command: 'cat', env: { LONG: 'x'.repeat(4 * 1024 * 1024) } },
          RegExp(`${unreachable}the program could not be started: spawn E2BIG\\. Next attempt`),
        ],
        [{ url: 'http://127.0.0.1:9/mcp' }, RegExp(`${unreachable}bad port\\. Next attempt`)],
        [bad('silent'), /The MCP server 'bad' has not answered for 1 s/],
        [bad('dies'), RegExp(`${unreachable}the program stopped \\(exit code 9\\)\\. Next attempt in 1 s`)],
        [
          { url: `http://127.0.0.1:${port}/mcp` },
          RegExp(`${unreachable}connect ECONNREFUSED 127.0.0.1:${port}\\. Next attempt`),
        ],
      ]
      const expectOnly = async ([server, expected]: (typeof cases)[number]) => {
        const { names, call, lines, provider } = await withGood(server)
        // The good one has a second, too: on a busy machine it may need the next attempt.
        await eventually(async () => expect(await call('add', { a: 1, b: 2 })).to.equal('3'))
        expect((await names()).filter((name) => name.startsWith('bad_'))).to.deep.equal([])
        await eventually(() => expect(lines.join('\n')).to.match(expected))
        const startedMs = Date.now()
        await provider[Symbol.asyncDispose]()
        expect(Date.now() - startedMs).to.be.below(3000)
      }
      await Promise.all(cases.map(expectOnly))
    })

    it('prints a banner, or exits on unknown requests: works', async () => {
      for (const how of ['banner', 'strict']) {
        const { call } = await make({ bad: bad(how) })
        expect(await call('add'), how).to.equal('fine')
      }
    })

    it('writes an endless line: is stopped, each time', async () => {
      const { call, lines } = await make({ bad: bad('flood') })
      for (let time = 1; time <= 2; time++) {
        expect(await call('add')).to.match(/^! The tool 'add' of the MCP server 'bad' failed: /)
        const gone = lines.filter((line) => line.includes('is gone: the program answered more than 10 MiB'))
        expect(gone).to.have.length(time)
      }
    })

    it('answers more than 10 MiB over HTTP: the call fails, and reading stops', async () => {
      let sent = 0
      const web = createHttpServer(async (incoming, outgoing) => {
        const chunks: Buffer[] = []
        for await (const chunk of incoming) chunks.push(chunk as Buffer)
        if (incoming.method !== 'POST') return outgoing.writeHead(405).end()
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
        const answer = (result: object) => outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        outgoing.setHeader('content-type', 'application/json')
        if (id === undefined) return outgoing.writeHead(202).end()
        if (method === 'initialize') {
          const { protocolVersion } = params
          return answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } })
        }
        if (method === 'tools/list') {
          return answer({ tools: [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }] })
        }
        if (method !== 'tools/call') return outgoing.writeHead(400).end()
        const flood = setInterval(() => {
          for (let n = 0; n < 16 && !outgoing.writableNeedDrain; n++) {
            sent++
            outgoing.write('x'.repeat(1024 * 1024))
          }
        }, 1)
        outgoing.once('close', () => clearInterval(flood))
      }).listen(0, '127.0.0.1')
      await once(web, 'listening')
      const { port } = web.address() as { port: number }
      const { call } = await make({ bad: { url: `http://127.0.0.1:${port}/mcp`, timeout: 5 } })
      expect(await call('add')).to.contain('the server answered more than 10 MiB')
      expect(sent).to.be.below(60)
      web.closeAllConnections()
      web.close()
    })

    for (const transport of ['http', 'sse']) {
      it(`redirects to another address: it is not followed, and gets no header (${transport})`, async () => {
        const seen: (string | undefined)[] = []
        const inner = createHttpServer(({ url, headers }, outgoing) => {
          seen.push(url, String(headers['x-app']))
          outgoing.writeHead(200).end()
        }).listen(0, '127.0.0.1')
        const outer = createHttpServer((_incoming, outgoing) => {
          const { port } = inner.address() as { port: number }
          outgoing.writeHead(307, { location: `http://127.0.0.1:${port}/inner` }).end()
        }).listen(0, '127.0.0.1')
        await Promise.all([once(inner, 'listening'), once(outer, 'listening')])
        const { port } = outer.address() as { port: number }
        const server = { url: `http://127.0.0.1:${port}/mcp`, transport, headers: { 'x-app': 'canary' } }
        const { lines } = await make({ bad: server }, { connect_timeout: 1 })
        expect(lines.join()).to.match(/The MCP server 'bad' cannot be reached: .*redirect/i)
        expect(seen).to.deep.equal([])
        for (const http of [inner, outer]) http.closeAllConnections()
        for (const http of [inner, outer]) http.close()
      })
    }

    it("changes a tool's description: logged, and refused if pinned", async () => {
      const open = await make({ bad: bad('changes') })
      expect(await open.call('add')).to.equal('changed')
      await eventually(() => expect(open.lines.join()).to.contain("has changed the description of 'add'."))
      expect(await open.names()).to.deep.equal(['add'])
      expect((await open.provider.listTools(makeRun())).map(({ isChanged }) => isChanged)).to.deep.equal([true])
      const pinned = await make({ bad: { ...bad('changes'), pin: true } })
      expect(await pinned.call('add')).to.equal('changed')
      await eventually(async () => expect(await pinned.names()).to.deep.equal([]))
      expect(pinned.lines.join()).to.contain('It is pinned, and refused.')
    })

    it('is not ready at first: is retried', async () => {
      const { path } = await makeProject()
      const { names, lines } = await make({ bad: { ...bad('unready'), args: [...bad('unready').args, path('asked')] } })
      await eventually(async () => expect(await names()).to.deep.equal(['add']))
      expect(lines.join('\n')).to.not.contain('Next attempt in 30')
    })

    it('forgets its clients: reconnects, and the call runs once', async () => {
      let sessions = 0
      let calls = 0
      const web = createHttpServer(async (incoming, outgoing) => {
        const chunks: Buffer[] = []
        for await (const chunk of incoming) chunks.push(chunk as Buffer)
        if (incoming.method !== 'POST') return outgoing.writeHead(405).end()
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
        const answer = (result: object) => outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        outgoing.setHeader('content-type', 'application/json')
        if (id === undefined) return outgoing.writeHead(202).end()
        if (method === 'initialize') {
          outgoing.setHeader('mcp-session-id', `s${++sessions}`)
          const { protocolVersion } = params
          return answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } })
        }
        if (method === 'tools/list') {
          return answer({ tools: [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }] })
        }
        if (method !== 'tools/call') {
          const error = { code: -32601, message: 'Method not found' }
          return outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
        }
        // As after a restart: the first session is not known any more.
        if (incoming.headers['mcp-session-id'] === 's1') return outgoing.writeHead(404).end('{}')
        calls++
        return answer({ content: [{ type: 'text', text: 'fine' }] })
      }).listen(0, '127.0.0.1')
      await once(web, 'listening')
      const { port } = web.address() as { port: number }
      const { call } = await make({ bad: { url: `http://127.0.0.1:${port}/mcp` } })
      expect([await call('add'), sessions, calls]).to.deep.equal(['fine', 2, 1])
      web.closeAllConnections()
      web.close()
    })

    it('exits in the middle of a call: that call fails, at once', async () => {
      const { call } = await make({ bad: bad('exits') })
      const startedMs = Date.now()
      expect(await call('add')).to.match(/^! The tool 'add' of the MCP server 'bad' failed: /)
      expect(Date.now() - startedMs).to.be.below(3000)
    })

    it('floods standard error: the log is bounded', async () => {
      const { call, lines } = await make({ bad: bad('chatty') })
      expect(await call('add')).to.equal('fine')
      expect(lines.length).to.be.below(500)
    })

    it('ignores SIGTERM, or forks others that do: no process is left', async () => {
      const expectEnd = async (how: string) => {
        const { call, lines, provider } = await make({ bad: bad(how) })
        expect(await call('add')).to.equal('fine')
        await provider[Symbol.asyncDispose]()
        const forked = Number(/forked (\d+)/.exec(lines.join('\n'))?.[1])
        if (how === 'forks') await eventually(() => expect(isAlive(forked)).to.equal(false), 3000)
      }
      await Promise.all(['deaf', 'forks'].map(expectEnd))
      const left = await new Promise<string>((resolve) => {
        const list = spawn('ps', ['-eo', 'args'], { stdio: ['ignore', 'pipe', 'ignore'] })
        let text = ''
        list.stdout.on('data', (chunk) => {
          text += chunk
        })
        list.on('close', () => resolve(text))
        list.on('error', () => resolve(''))
      })
      expect(left).to.not.match(/bad-mcp-server\.js (deaf|forks)/)
    })
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
