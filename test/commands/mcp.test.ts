import { mkdirSync, rmdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect } from 'chai'
import { execa } from 'execa'
import { AUDITED_FILES, auditLines, CANARY } from '../support/audit.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { MCP_PROJECT } from '../support/mcp.ts'
import { makeProject } from '../support/temp-project.ts'

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const INFO = { name: 'test', version: '1.0.0' }
const FILES = {
  ...MCP_PROJECT,
  'modules/noisy.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
    console.log('loaded')
    export default defineModule({ name: 'Noisy', provides: [TextMessageHandler], uses: { response: Response },
      create: ({ response }) => ({ async handleText(text) { console.log('called'); console.info({ text }); await response.respondText(text) } }) })`,
  'agents/noisy.yml': 'id: noisy\nmodules: [{ id: main, module: noisy }]',
}

function parameters(cwd: string) {
  return { command: process.execPath, args: [RUN, 'mcp', '--stdio'], cwd, stderr: 'pipe' as const }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('mcp --stdio', () => {
  it('serves clients of any protocol version, whatever agents print', async () => {
    const serve = async (mode: 'auto' | undefined, version: string) => {
      const { dir } = await makeProject(FILES)
      const client = new Client(INFO, mode ? { versionNegotiation: { mode } } : {})
      const transport = new StdioClientTransport(parameters(dir))
      await client.connect(transport)
      expect(client.getNegotiatedProtocolVersion()).to.equal(version)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).to.deep.equal(['act', 'guide', 'noisy', 'sum'])
      const answer = await client.callTool({ name: 'noisy', arguments: { message: 'hello' } })
      expect(answer.content).to.deep.equal([{ type: 'text', text: 'hello' }])
      const told: unknown[] = []
      const onprogress = ({ message }: { message?: string | undefined }) => void told.push(message)
      const counted = await client.callTool({ name: 'act', arguments: { message: 'count 3' } }, { onprogress })
      expect(counted.content).to.deep.equal([{ type: 'text', text: 'w0 w1 w2 ' }])
      // A server that is ahead leaves messages out, and the client drops those that arrive together with the result.
      expect(told[0]).to.equal('w0 ')
      expect(told).to.deep.equal(['w0 ', 'w1 ', 'w2 '].filter((word) => told.includes(word)))
      const { pid } = transport
      await client.close()
      await eventually(() => expect(isAlive(pid as number)).to.equal(false))
    }
    await Promise.all([serve(undefined, '2025-11-25'), serve('auto', '2026-07-28')])
  })

  it('traces requests in debug mode', async () => {
    const project = await makeProject(FILES)
    const client = new Client(INFO)
    const { args, ...rest } = parameters(project.dir)
    await client.connect(new StdioClientTransport({ ...rest, args: [...args, '--debug-ui'] }))
    await client.callTool({ name: 'noisy', arguments: { message: 'hello' } })
    await client.close()
    const { stdout } = await callCli(['runs', '--json'], { cwd: project.dir })
    const { runs } = JSON.parse(stdout)
    expect(runs).to.have.length(1)
    expect(runs[0]).to.include({ agent_id: 'noisy', status: 'completed', input: 'hello', output: 'hello' })
  })

  it('writes an audit log: a line before each call, and no call without', async () => {
    const project = await makeProject({ ...FILES, ...AUDITED_FILES })
    const client = new Client(INFO)
    const { args, ...rest } = parameters(project.dir)
    await client.connect(new StdioClientTransport({ ...rest, args: [...args, '--audit-log', 'audit.jsonl'] }))
    const clean = async () => {
      const { content } = await client.callTool({ name: 'cleaner', arguments: { message: CANARY } })
      return (content as { text?: string }[])[0]?.text
    }
    expect(await clean()).to.equal('washed')
    const acts = auditLines(project.path('audit.jsonl')).filter(({ event }) => event !== 'agent')
    expect(acts.map(({ event }) => event)).to.deep.equal(['start', 'run_begin', 'tool_call', 'run_end'])
    expect(JSON.stringify(acts)).to.not.include(CANARY)
    await project.move('audit.jsonl', 'before.jsonl')
    mkdirSync(project.path('audit.jsonl'))
    expect(await clean()).to.equal('AUDIT_UNAVAILABLE')
    rmdirSync(project.path('audit.jsonl'))
    expect(await clean()).to.equal('washed')
    await client.close()
    const [gap, ...later] = auditLines(project.path('audit.jsonl'))
    expect([gap?.event, gap?.missed]).to.deep.equal(['gap', 3])
    expect(later.map(({ event }) => event)).to.deep.equal(['run_begin', 'tool_call', 'run_end'])
  })

  it('picks up edits, and says so', async () => {
    const { dir, write } = await makeProject(FILES)
    const client = new FirstClient(INFO)
    const transport = new FirstTransport(parameters(dir))
    let changes = 0
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/tools/list_changed') changes++
    }
    await client.connect(transport as Parameters<FirstClient['connect']>[0])
    await write('agents/new.yml', 'id: new\nmodules: [{ id: m, module: echo }]')
    await eventually(() => expect(changes).to.be.greaterThan(0))
    expect((await client.listTools()).tools.map(({ name }) => name)).to.include('new')
    const answer = await client.callTool({ name: 'new', arguments: { message: 'hi' } })
    expect(answer.content).to.deep.equal([{ type: 'text', text: 'hi' }])
    await client.close()
  })

  it('lets running calls end when its input ends, and answers them', async () => {
    const { dir } = await makeProject(FILES)
    const child = execa(process.execPath, [RUN, 'mcp', '--stdio'], { cwd: dir, stdin: 'pipe', reject: false })
    const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const params = { protocolVersion: '2025-06-18', clientInfo: { name: 'test', version: '1' }, capabilities: {} }
    send({ id: 1, method: 'initialize', params })
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/call', params: { name: 'act', arguments: { message: 'count 40' } } })
    child.stdin?.end()
    const { stdout, exitCode } = await child
    const answer = stdout.split('\n').find((line) => line.includes('"id":2')) ?? '{}'
    expect(JSON.parse(answer))
      .nested.property('result.content[0].text')
      .match(/^w0 .* w39 $/)
    expect(exitCode).to.equal(0)
  })

  it('explains that --stdio is missing', async () => {
    const { exitCode, stderr } = await callCli(['mcp'])
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/--stdio is missing/)
  })
})
