import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { openTaskSession } from '../../support/mcp-tasks.ts'
import type { Json } from '../../support/responses.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { makeProject } from '../../support/temp-project.ts'

const LENGTH = 4_000_000
const TALK = 'id: talk\nconversation: true\nexpose: [conversations]\nmodules: [{ id: main, module: echo }]'
const HEADERS = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' }

describe('large resources over MCP, from a server with a heap of 256 MB', () => {
  afterEach(killRunning)

  it('that a batch reads a hundred times are sent until the answer is full, and then errors', async () => {
    const { post, begin, readOf } = await open()
    const [large, small] = [await begin('x'.repeat(LENGTH)), await begin('small')]
    const [first, ...rest] = await post([readOf(large), ...Array.from({ length: 99 }, () => readOf(large))])
    expect(JSON.parse(first.result.contents[0].text)[1].content).to.have.length(LENGTH)
    expect(rest).to.have.length(99)
    for (const { error } of rest) {
      expect(error.code).to.equal(-32603)
      expect(error.message).to.match(/^The answers of the batch have more than \d+ characters: send this message by/)
    }
    expect((await post({ ...readOf(small), method: 'ping' })).result).to.deep.equal({})
    const answers: Json[] = await post(Array.from({ length: 100 }, () => readOf(small)))
    expect(new Set(answers.map(({ result }) => result.contents[0].text)).size).to.equal(1)
  }).timeout(60_000)

  it('are sent to all who read them at once, or an error is', async () => {
    const { post, begin, readOf } = await open()
    const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => begin(`${n}`.repeat(LENGTH))))
    const batch = ids.map(readOf)
    const told: Json[] = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 ? post(readOf(ids[n % 8] as string)) : post(batch))),
    )
    const outcomes = told.flat().map(({ result, error }) => (result ? 'sent' : error.message.replace(/\d+/, 'n')))
    expect(new Set([...outcomes, OVERLOADED])).to.have.all.keys('sent', TOO_LONG, OVERLOADED)
    expect((await post({ ...readOf(ids[0] as string), method: 'ping' })).result).to.deep.equal({})
  }).timeout(120_000)

  it('have a maximum length', async () => {
    const { post, begin, readOf } = await open()
    const id = await begin('x'.repeat(9_000_000))
    const { error } = await post(readOf(id))
    expect(error.message).to.match(
      /^Resource is too long: agent-host:\/\/talk\/conversations\/.* has more than \d+ char/,
    )
    expect((await post({ ...readOf(id), method: 'ping' })).result).to.deep.equal({})
  }).timeout(60_000)
})

describe('large results of tasks over MCP, from a server with a heap of 256 MB', () => {
  afterEach(killRunning)

  it('wait until others are sent, or are an error; small ones do not', async () => {
    const { url } = await start({ 'agents/long.yml': LONG, 'modules/long.ts': LONG_MODULE })
    await using client = await openTaskSession(new URL('/mcp', url))
    const begin = async (message: string) => {
      const { result } = await client.send('tools/call', { name: 'long', arguments: { message } })
      const read = () => client.send('tasks/get', { taskId: result?.taskId })
      await eventually(async () => expect((await read()).result).to.include({ status: 'completed' }))
      return { read, taskId: result?.taskId }
    }
    const [large, small] = [await begin('20000000'), await begin('20')]
    const _meta = { [`${MCP}/protocolVersion`]: '2026-07-28', ...CLIENT }
    const params = { taskId: large.taskId, _meta }
    // It has the head of its answer, and reads no further.
    const unread = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...HEADERS, ...SDK_HEADERS, 'mcp-method': 'tasks/get', 'mcp-name': String(large.taskId) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params }),
    })
    const waiting = large.read()
    expect((await small.read()).result).to.include({ status: 'completed' })
    expect((await waiting).error?.message).to.equal(OVERLOADED)
    await unread.body?.cancel()
    expect(JSON.stringify((await large.read()).result)).to.have.length.greaterThan(20_000_000)
  }).timeout(60_000)
})

const MCP = 'io.modelcontextprotocol'
const CLIENT = {
  [`${MCP}/clientInfo`]: { name: 'test', version: '1' },
  [`${MCP}/clientCapabilities`]: { extensions: { [`${MCP}/tasks`]: {} } },
}
const SDK_HEADERS = { 'mcp-protocol-version': '2026-07-28', accept: 'application/json, text/event-stream' }
const LONG = 'id: long\ntasks: true\nmodules: [{ id: main, module: long }]'
const LONG_MODULE = `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Long', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ handleText: (text) => response.respondText('x'.repeat(Number(text))) }) })`

const OVERLOADED = 'Too many large requests are under way.'
const TOO_LONG = 'The answers of the batch have more than n characters: send this message by itself'

async function start(files: Readonly<Record<string, string>>) {
  const { dir } = await makeProject(files)
  const env = { NODE_OPTIONS: '--max-old-space-size=256' }
  const server = startCli(['serve', '--adapter', 'McpApiAdapter', '--port', '0'], { cwd: dir, env })
  const [, url] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
  return { url }
}

async function open() {
  const { url } = await start({ 'agents/talk.yml': TALK })
  const post = async (body: object): Promise<Json> =>
    (await fetch(`${url}/mcp`, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) })).json()
  return {
    post,
    /** Returns the id of a conversation that begins with a message. */
    begin: async (message: string): Promise<string> => {
      const params = { name: 'talk', arguments: { message } }
      const { result } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      return result.content.at(-1).text.replace('conversation_id: ', '')
    },
    readOf: (id: string) => {
      const params = { uri: `agent-host://talk/conversations/${id}` }
      return { jsonrpc: '2.0', id: 1, method: 'resources/read', params }
    },
  }
}
