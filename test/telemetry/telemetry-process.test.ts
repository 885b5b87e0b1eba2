import { createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { startCollector } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { killRunning, runNode, startCli } from '../support/run-cli.ts'
import { chat } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const ECHO = { 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]' }
const SERVE = ['serve', '--adapter', 'ChatCompatApiAdapter', '--port', '0']

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Script that lets a process find all packages but one. */
function withoutPackage(missing: string): string {
  return `const { Module } = require('node:module')
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...rest) => {
      if (name === '${missing}') throw new Error('not installed')
      return resolve(name, ...rest)
    }`
}

/** What a process has loaded once a server was built, run and closed there; and when it has ended by itself. */
async function loadedWith(env: Readonly<Record<string, string>>, options: object = {}): Promise<string[]> {
  const { dir } = await makeProject(ECHO)
  const script = `
    import { Module } from 'node:module'
    import { buildServer } from '${new URL('../../dist/index.js', import.meta.url)}'
    const server = await buildServer({ projectDir: '.', port: 0, logLevel: 'silent', ...${JSON.stringify(options)} })
    await server.host.run('echo', 'hi')
    await server.close()
    const files = Object.keys(Module._cache).join()
    console.log(['@opentelemetry', 'prom-client'].filter((name) => files.includes('/node_modules/' + name + '/')).join())`
  const { stdout, stderr } = await runNode(['--input-type=module', '-e', script], { cwd: dir, env })
  expect(stderr).to.equal('')
  return stdout.trim().split(',').filter(Boolean)
}

describe('telemetry of a process', () => {
  afterEach(killRunning)

  it('loads nothing unless enabled, and lets the process exit', async () => {
    expect(await loadedWith({})).to.deep.equal([])
    expect(await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).to.deep.equal([])
    expect(await loadedWith({}, { metrics: true })).to.include('prom-client')
    const unreachable = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '100' }
    expect(await loadedWith(unreachable)).to.deep.equal(['@opentelemetry'])
  })

  it('names missing packages, and exits with 2', async () => {
    const { dir, path } = await makeProject({
      ...ECHO,
      'without.cjs': withoutPackage('@opentelemetry/sdk-trace-node'),
    })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    const { exitCode, stderr } = await runNode(['--require', path('without.cjs'), RUN, ...SERVE], { cwd: dir, env })
    const names = '@opentelemetry/api @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-proto'
    expect({ exitCode, stderr }).to.deep.equal({
      exitCode: 2,
      stderr: `Error: OTEL_EXPORTER_OTLP_ENDPOINT is set, and needs packages that are not installed: ${names}.
  Install them in the project: npm install ${names}
  Or unset OTEL_EXPORTER_OTLP_ENDPOINT: no spans are then sent.
`,
    })
  })

  it('names only those packages that the project lacks', async () => {
    const names = ['api', 'sdk-trace-node', 'sdk-trace-base', 'resources']
    const own = names.map((name) => [`node_modules/@opentelemetry/${name}/index.js`, ''])
    const { dir, path } = await makeProject({
      ...ECHO,
      ...Object.fromEntries(own),
      'without.cjs': withoutPackage('@opentelemetry/exporter-trace-otlp-http'),
    })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
    const { exitCode, stderr } = await runNode(['--require', path('without.cjs'), RUN, ...SERVE], { cwd: dir, env })
    expect({ exitCode, stderr }).to.deep.equal({
      exitCode: 2,
      stderr: `Error: OTEL_EXPORTER_OTLP_ENDPOINT is set, and needs packages that are not installed: @opentelemetry/exporter-trace-otlp-http.
  Install them in the project: npm install @opentelemetry/exporter-trace-otlp-http
  Or unset OTEL_EXPORTER_OTLP_ENDPOINT: no spans are then sent.
`,
    })
  })

  it("prefers the project's own packages", async () => {
    const names = ['api', 'sdk-trace-node', 'sdk-trace-base', 'resources', 'exporter-trace-otlp-proto']
    const own = names.map((name) => [`node_modules/@opentelemetry/${name}/index.js`, 'throw new Error("my own")'])
    const { dir } = await makeProject({ ...ECHO, ...Object.fromEntries(own) })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    const { exitCode, stderr } = await runNode([RUN, ...SERVE], { cwd: dir, env })
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 1, stderr: 'Error: my own\n' })
  })

  it('logs an unreachable collector once, without slowing down', async () => {
    const port = await freePort()
    const { dir } = await makeProject({
      ...ECHO,
      '.env': 'OTEL_EXPORTER_OTLP_TIMEOUT=100\nOTEL_BSP_SCHEDULE_DELAY=20\n',
    })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:secret@127.0.0.1:${port}` }
    const server = startCli(SERVE, { cwd: dir, env })
    const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    for (let round = 0; round < 5; round++) {
      const response = await fetch(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(chat('echo', 'hi')),
      })
      expect(response.status).to.equal(200)
      await setTimeout(60)
    }
    const [line] = await server.printed(/"level":40.*Spans cannot be sent.*/)
    const reason = `connect ECONNREFUSED 127.0.0.1:${port}`
    expect(line).to.contain(`Spans cannot be sent to http://127.0.0.1:${port}/: ${reason}. Agents are not affected.`)
    const begin = performance.now()
    expect(await server.stop()).to.equal(0)
    expect(performance.now() - begin).to.be.below(4000)
    expect(server.output().match(/Spans cannot/g)).to.have.length(1)
  })

  it('logs no scrapes', async () => {
    const { dir } = await makeProject(ECHO)
    const server = startCli([...SERVE, '--metrics'], { cwd: dir })
    const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    expect((await fetch(`${url}/metrics`)).status).to.equal(200)
    await fetch(`${url}/v1/models`)
    await server.printed(/GET \/v1\/models 200/)
    expect(server.output()).not.to.contain('GET /metrics')
  })

  it('delays the exit for at most 2 s if the collector hangs', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => silent.once('listening', resolve))
      const { dir } = await makeProject(ECHO)
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as { port: number }).port}` }
      const server = startCli(SERVE, { cwd: dir, env })
      const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
      await fetch(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(chat('echo', 'hi')),
      })
      const begin = performance.now()
      expect(await server.stop()).to.equal(0)
      expect(performance.now() - begin).to.be.within(1900, 8000)
      expect(server.output()).to.contain('The last spans were not taken within 2000 ms, and are lost.')
    } finally {
      silent.close()
    }
  })

  it('sends spans of agents served over stdio', async () => {
    const collector = await startCollector()
    try {
      const { dir } = await makeProject(ECHO)
      const protocol = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
      const env = { PATH: process.env.PATH ?? '', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...protocol }
      const client = new Client({ name: 'test', version: '1.0.0' })
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [RUN, 'mcp', '--stdio'],
          cwd: dir,
          env,
          stderr: 'pipe',
        }),
      )
      await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
      await client.close()
      await eventually(() => {
        expect(collector.spans().map(({ name }) => name)).to.have.members(['invoke_agent echo', 'main.handleText'])
      })
    } finally {
      await collector.stop()
    }
  })
})
