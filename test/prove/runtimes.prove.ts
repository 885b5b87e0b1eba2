// Bun and Deno, in the place of Node, serve chat and stored responses, and end on SIGTERM.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { execa } from 'execa'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject, removeFolder } from '../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
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
    it(`${name} ${version} serves chat and stored responses, and ends`, async () => {
      const { dir: cwd } = await makeProject({ 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n' })
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
      expect(await server.stop()).to.equal(0)
    })
  }
}).timeout(300_000)

async function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.status).to.equal(200)
  return JSON.parse(await response.text())
}
