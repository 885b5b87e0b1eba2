import { readdir, readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { fuzz, KEPT_SEEDS } from '../../support/fuzz/fuzz.ts'
import { needsOpenFiles } from '../../support/needs-open-files.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const COMPLETIONS = '/compat/chat/completions'

describe('a server under hostile requests', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  for (const seed of KEPT_SEEDS) {
    it(`never fails internally, whatever requests, sockets, models and MCP servers send (seed ${seed})`, async () => {
      expect(await fuzz(seed, { requests: 500, sockets: 60, messages: 60, turns: 30 })).to.deep.equal([])
    })
  }

  it('rejects unusable client schemas without delay', async () => {
    const { app } = await makeServer()
    const ask = async (schema: object) => {
      const content = `{"a":"${'a'.repeat(40)}!"}`
      const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }
      const payload = chat('echo', content, { response_format })
      const { statusCode, body } = await app.inject({ method: 'POST', url: COMPLETIONS, payload })
      return `${statusCode} ${body}`
    }
    const a = (pattern: string) => ({ type: 'object', properties: { a: { type: 'string', pattern } } })
    const spentMs = measureCpuTime()
    expect(await ask(a('^(a+)+$'))).to.match(/^500 .*its checks take longer than 200 ms/)
    expect(await ask(a('('))).to.match(/^400 .*The schema of the answer cannot be used: .*regular expression/i)
    expect(await ask(a('^a+!$'))).to.match(/^200 /)
    expect(spentMs()).to.be.below(5000)
  })

  it('serves a good client quickly while 500 others send their requests byte by byte', async function () {
    needsOpenFiles(this, 2048)
    const server = await makeServer()
    const { port } = new URL(await server.listen())
    const sockets: Socket[] = Array.from({ length: 500 }, () =>
      connect(Number(port), '127.0.0.1').on('error', () => {}),
    )
    for (const socket of sockets)
      socket.write('POST /compat/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n')
    const trickle = setInterval(() => {
      for (const socket of sockets) socket.write('x')
    }, 50)
    try {
      const times: number[] = []
      for (let call = 0; call < 100; call++) {
        const startedMs = performance.now()
        const response = await fetch(`http://127.0.0.1:${port}${COMPLETIONS}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(chat('echo', 'x')),
        })
        expect(response.status).to.equal(200)
        await response.text()
        times.push(performance.now() - startedMs)
      }
      times.sort((a, b) => a - b)
      expect(times[98]).to.be.below(500)
    } finally {
      clearInterval(trickle)
      for (const socket of sockets) socket.destroy()
    }
  })

  it('leaks no secret into the log, an answer, a trace, or the debug UI', async () => {
    const { dir } = await makeProject({
      '.env': 'CANARY_API_KEY=canary-from-dotenv\n',
      'agents/leaky.yml':
        'id: leaky\nmodules: [{ id: main, module: leaky, config: { key: "${CANARY_API_KEY}" } }, { id: tools, module: tools/local, config: { files: [tools/t.ts] } }]',
      'tools/t.ts': `import { defineTool, Type } from 'agent-host'
export const login = defineTool({ description: 'x', parameters: Type.Object({ password: Type.String() }), execute: ({ password }) => 'ok' })`,
      'modules/leaky.ts': `import { defineModule, TextMessageHandler, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Leaky', provides: [TextMessageHandler], uses: { tools: ToolProvider }, config: Type.Object({ key: Type.String() }),
  create: ({ tools }, { key }, { log }) => ({ async handleText(text, run) {
    log.info('my key is ' + key)
    await tools.executeTool('login', { password: 'canary-argument' }, run)
    throw new Error('refused with ' + key)
  } }) })`,
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const [, url] = await server.printed(/ready at (http:\S+)/)
    const post = async (stream: boolean) => {
      const response = await fetch(url + COMPLETIONS, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(chat('leaky', 'go', { stream })),
      })
      return response.text()
    }
    const answers = [await post(false), await post(true)].join('\n')
    const query = `{ runs { runs { input error events { events { arguments result exception } } } }
      agent_config(agent_id: "leaky") { definition modules { config } } }`
    const response = await fetch(`${url}/api/ui/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    const told = await response.text()
    await setTimeout(200)
    await server.stop()
    const output = server.output()
    const folder = join(dir, 'debug')
    const entries = await readdir(folder, { withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
    const traced = await Promise.all(files.map((file) => readFile(join(folder, file), 'latin1')))
    expect(files).to.include('leaky.jsonl')
    const tapes = await readdir(join(folder, 'tapes'))
    const taped = await Promise.all(tapes.map((file) => readFile(join(folder, 'tapes', file))))
    expect(tapes).to.have.length(2)
    // Arguments are whole in a tape: a replay compares them.
    expect(taped.map((bytes) => gunzipSync(bytes).toString()).join())
      .to.include('canary-argument')
      .and.to.include('${CANARY_API_KEY}')
      .and.not.to.include('canary-from-dotenv')
    expect(traced.join()).to.include('"password":"[redacted]"').and.to.include('refused with [redacted]')
    expect(told).to.include('refused with [redacted]').and.to.include('"key":"${CANARY_API_KEY}"')
    expect(answers).to.include('Agent execution failed: refused with [redacted]')
    expect(output).to.include('my key is [redacted]').and.to.include('refused with [redacted]').and.to.include('login(')
    expect(answers + output + told + traced.join()).not.to.match(/canary-/)
  })
})
