// Bun and Deno, in the place of Node, serve chat, responses (stored, in the background, over a WebSocket), MCP, GraphQL and edits, and end on SIGTERM.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { execa } from 'execa'
import { openSocket } from '../support/response-socket.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject, removeFolder } from '../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']
const ECHO = 'id: echo\nmodules: [{ id: main, module: echo }]\n'
const RUNTIMES = [
  ['bun', '1.4', []],
  ['deno', '2.9', ['run', '--allow-all']],
] as const

describe('runtimes', () => {
  let dir: string

  before(async function () {
    this.timeout(120_000)
    dir = await mkdtemp(join(tmpdir(), 'agent-host-runtimes-'))
    const packages = RUNTIMES.map(([name, version]) => `${name}@${version}`)
    await execa('npm', ['install', '--prefix', dir, '--no-fund', '--no-audit', ...packages])
  })
  afterEach(killRunning)
  after(() => removeFolder(dir))

  for (const [name, version, args] of RUNTIMES) {
    it(`${name} ${version} serves every adapter, and ends`, async () => {
      const { dir: cwd } = await makeProject({ 'agents/echo.yml': ECHO })
      const options = { cwd, runtime: [join(dir, 'node_modules/.bin', name), ...args] } as const
      const server = startCli(['serve', '--port', '0', ...ADAPTERS.flatMap((path) => ['--adapter', path])], options)
      const url = (await server.printed(/listening at (http:[^"\s]+)/))[1] as string
      const messages = [{ role: 'user', content: 'hello' }]
      const chat = await post(`${url}/v1/chat/completions`, { model: 'echo', messages })
      expect(chat.choices[0].message.content).to.equal('hello')
      const { id } = await post(`${url}/v1/responses`, { model: 'echo', input: 'stored' })
      const stored = JSON.parse(await (await fetch(`${url}/v1/responses/${id}`)).text())
      expect(stored).to.include({ id, status: 'completed' })
      expect(stored.output[0].content[0].text).to.equal('stored')
      expect(await inBackground(url)).deep.equal(['completed', 'later'])
      const { ask } = await openSocket(url)
      const frames = await ask({ type: 'response.create', model: 'echo', input: 'framed' })
      expect(frames.at(-1)?.response.output[0].content[0].text).equal('framed')
      const called = { name: 'echo', arguments: { message: 'tool' } }
      const { result } = await post(`${url}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: called })
      expect(result.content).deep.equal([{ type: 'text', text: 'tool' }])
      const listed = await post(`${url}/api/ui/graphql`, { query: '{ list_agents { id } }' })
      expect(listed.data.list_agents).deep.equal([{ id: 'echo' }])
      await writeFile(join(cwd, 'agents/late.yml'), ECHO.replace('echo', 'late'))
      await server.printed(/late/)
      const edited = await post(`${url}/v1/chat/completions`, { model: 'late', messages })
      expect(edited.choices[0].message.content).equal('hello')
      expect(await server.stop()).to.equal(0)
    })
  }
}).timeout(300_000)

/** Status and text of a response in the background, once it has ended. */
async function inBackground(url: string): Promise<[string, string]> {
  const { id } = await post(`${url}/v1/responses`, { model: 'echo', input: 'later', background: true })
  const events = await (await fetch(`${url}/v1/responses/${id}?stream=true`)).text()
  expect(events).match(/response\.completed/)
  const { status, output } = JSON.parse(await (await fetch(`${url}/v1/responses/${id}`)).text())
  return [status, output[0].content[0].text]
}

async function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.status).to.equal(200)
  return JSON.parse(await response.text())
}
