import { readdir, readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { killRunning, startCli } from '../support/run-cli.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const COMPLETIONS = '/compat/chat/completions'

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('echo', 'user', 'stream', '__proto__', 'constructor', '\u0000', '../..', 'model'),
)
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
})).value
const message = fc.record(
  {
    role: fc.oneof(fc.constantFrom('user', 'system', 'tool', 'assistant'), anything),
    content: fc.oneof(text, anything),
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  fc.record(
    {
      model: fc.oneof(fc.constantFrom('echo', 'desk/sales', 'nobody'), anything),
      messages: fc.oneof(fc.array(message, { maxLength: 3 }), anything),
      stream: fc.oneof(fc.boolean(), anything),
      temperature: anything,
      stop: anything,
      user: anything,
      metadata: anything,
      stream_options: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
)
const request = fc.record({
  method: fc.constantFrom('GET', 'POST', 'POST', 'POST', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'),
  url: fc.oneof(
    fc.constant(COMPLETIONS),
    fc.constant('/compat/models'),
    fc.webPath().map((path) => `/compat/models/${path}`),
    fc.webPath(),
  ),
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'a/b; c',
    '',
  ),
  payload: fc.oneof(
    { weight: 5, arbitrary: body.map((value) => JSON.stringify(value) ?? '') },
    { weight: 1, arbitrary: text },
  ),
})

describe('a server under hostile requests', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  it('answers 20,000 requests of any shape without a fault of its own', async function () {
    this.timeout(120_000)
    const { app } = await makeServer()
    const faults: unknown[] = []
    for (const batch of chunk(fc.sample(request, { numRuns: 20_000, seed: 7 }), 100)) {
      const sent = batch.map(async ({ method, url, type, payload }) => {
        const withBody = method !== 'GET' && method !== 'HEAD'
        const headers = type === '' ? {} : { 'content-type': type }
        const response = await app.inject({
          method: method as 'GET',
          url: url.startsWith('/') ? url : `/${url}`,
          headers,
          ...(withBody ? { payload } : {}),
        })
        if (!isFine(response.statusCode, response.body, method))
          faults.push([method, url, type, payload, response.statusCode, response.body])
      })
      await Promise.all(sent)
    }
    expect(faults).to.deep.equal([])
  })

  it('serves a good client quickly while 500 others send their requests byte by byte', async () => {
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

  it('lets no secret out: not into the log, an answer, a trace, or the debug UI', async () => {
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
    const files = await readdir(join(dir, 'debug'))
    const traced = await Promise.all(files.map((file) => readFile(join(dir, 'debug', file), 'latin1')))
    expect(files).to.include('leaky.jsonl')
    expect(traced.join()).to.include('"password":"[redacted]"').and.to.include('refused with [redacted]')
    expect(told).to.include('refused with [redacted]').and.to.include('"key":"[redacted]"')
    expect(answers).to.include('Agent execution failed: refused with [redacted]')
    expect(output)
      .to.include('my key is [redacted]')
      .and.to.include('refused with [redacted]')
      .and.to.include('executeTool login')
    expect(answers + output + told + traced.join()).not.to.match(/canary-/)
  })
})

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

/** Never our fault, and every refusal a JSON object with one text, `detail`. */
function isFine(status: number, answer: string, method: string): boolean {
  if (status < 400) return true
  if (status >= 500) return false
  if (method === 'HEAD') return true
  const parsed = JSON.parse(answer)
  return Object.keys(parsed).join() === 'detail' && typeof parsed.detail === 'string'
}
