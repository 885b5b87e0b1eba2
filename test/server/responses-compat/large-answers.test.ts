import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { HEADERS, startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { makeProject } from '../../support/temp-project.ts'

const MIB = 1024 * 1024
const ECHO = 'id: echo\nmodules:\n  - { id: main, module: echo }\n'

/** `writer` asks to write 2 MiB. */
const LARGE_CALLS = {
  'agents/echo.yml': ECHO,
  'agents/writer.yml':
    'id: writer\nmodules: [{ id: llm, module: writer }, { id: files, module: files }, { id: main, module: orchestrator/tool-loop }]',
  'modules/writer.ts': `import { defineModule, LLM } from 'agent-host'
    export default defineModule({ name: 'Writer', provides: [LLM], create: () => ({ async *generate() {
      yield { type: 'tool_call', call: { id: 'c', name: 'write', arguments: { text: 'A "text" of 32 characters, \\n.'.repeat(2 ** 16) } } }
      yield { type: 'finish', reason: 'tool_calls' } } }) })`,
  'modules/files.ts': `import { defineModule, ToolProvider } from 'agent-host'
    export default defineModule({ name: 'Files', provides: [ToolProvider], create: () => ({
      listTools: () => [{ name: 'write', description: '', parameters: { type: 'object' } }],
      needsApproval: () => true, executeTool: async () => ({ text: 'written' }) }) })`,
}

describe('a large stored response', () => {
  afterEach(killRunning)

  it('is streamed to twenty slow readers at once, and sent to others, by a server with a heap of 96 MB', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const text = 'A "text" of 32 characters, \u00e9\u{1f600}. '.repeat((3 * MIB) / 32)
    const { json } = await server.ask('', { model: 'echo', input: text })
    const open = async (): Promise<IncomingMessage> => {
      const request = get(`${server.url}/${json.id}?stream=true`, { headers: HEADERS, agent: false })
      const [reply] = (await once(request, 'response')) as [IncomingMessage]
      return reply.pause()
    }
    const readers = await Promise.all(Array.from({ length: 20 }, open))
    // While they read nothing, others are answered.
    expect((await server.ask('', { model: 'echo', input: 'hi' })).status).to.equal(200)
    const records = await Promise.all(Array.from({ length: 10 }, () => server.ask(`/${json.id}`)))
    expect(records.every((record) => record.json.output[0].content[0].text === text)).to.equal(true)
    const digests = await Promise.all(readers.map(digestOf))
    expect(new Set(digests).size).to.equal(1)
    const events = await eventsOf(await open())
    expect(events.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.content_part.done',
      'response.output_text.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.at(-1)?.response).to.deep.equal(records[0]?.json)
  }).timeout(60_000)

  it('of many goes to all who ask at once, or 503 does, from a server with a heap of 96 MB', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const text = 'A "text" of 32 characters, \u00e9\u{1f600}. '.repeat(MIB / 32)
    const ids: string[] = []
    for (let index = 0; index < 12; index++)
      ids.push((await server.ask('', { model: 'echo', input: `${index} ${text}` })).json.id)
    const askFor = async (path: string, length: number): Promise<string> => {
      const reply = await fetch(server.url + path, { headers: HEADERS })
      let sent = 0
      for await (const chunk of reply.body ?? []) sent += chunk.length
      if (reply.status === 503 && reply.headers.has('retry-after')) return 'told'
      return reply.status === 200 && sent > length ? 'sent' : `${reply.status}, ${sent} bytes`
    }
    const each = (ask: (id: string) => Promise<string>) => Promise.all(ids.map(ask))
    const streamed = await each((id) => askFor(`/${id}?stream=true`, 5 * MIB))
    const shown = await each((id) => askFor(`/${id}`, MIB))
    const items = await each((id) => askFor(`/${id}/input_items`, MIB))
    const { json: page } = await server.ask('?limit=100')
    expect(new Set([...streamed, ...shown, ...items, 'told'])).to.have.all.keys('sent', 'told')
    expect(page.has_more).to.equal(true)
    expect(page.data).to.have.length.within(8, 10)
    expect((await server.ask('', { model: 'echo', input: 'hi' })).status).to.equal(200)
  }).timeout(120_000)

  it('is cancelled by twenty requests at once, by a server with a heap of 96 MB', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const text = 'A "text" of 32 characters, \u00e9\u{1f600}. '.repeat((3 * MIB) / 32)
    const { json } = await server.ask('', { model: 'echo', background: true, input: text })
    await eventually(async () => expect((await server.ask(`/${json.id}`)).json.status).to.equal('completed'), 20_000)
    const replies = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { status, headers, json: answer } = await server.ask(`/${json.id}/cancel`, {})
        if (status === 503 && headers.has('retry-after')) return 'told'
        return status === 200 ? answer.status : `${status} ${JSON.stringify(answer)}`
      }),
    )
    expect(new Set([...replies, 'told'])).to.have.all.keys('cancelled', 'told')
    const after = (await server.ask(`/${json.id}`)).json
    expect([after.status, after.output[0].content[0].text === text]).to.deep.equal(['cancelled', true])
    expect((await server.ask('', { model: 'echo', input: 'hi' })).status).to.equal(200)
  }).timeout(120_000)
})

describe('an inbox of large calls', () => {
  afterEach(killRunning)

  it('goes to twelve who ask at once, or 503 does, from a server with a heap of 96 MB', async () => {
    const { dir } = await makeProject(LARGE_CALLS)
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    let approval = ''
    for (let count = 0; count < 12; count++)
      approval = (await server.ask('', { model: 'writer', input: 'write' })).json.output.at(-1).id
    const inbox = `${server.url.replace(/responses$/, 'approvals')}`
    const askFor = async (path: string): Promise<string> => {
      const reply = await fetch(inbox + path, { headers: HEADERS })
      const text = await reply.text()
      if (reply.status === 503 && reply.headers.has('retry-after')) return 'told'
      return reply.status === 200 && text.length > MIB ? 'sent' : `${reply.status}, ${text.length} bytes`
    }
    const lists = await Promise.all(Array.from({ length: 12 }, () => askFor('?limit=100')))
    const single = await Promise.all(Array.from({ length: 12 }, () => askFor(`/${approval}`)))
    expect(new Set([...lists, ...single, 'told'])).to.have.all.keys('sent', 'told')
    expect((await server.ask('', { model: 'echo', input: 'hi' })).status).to.equal(200)
  }).timeout(120_000)
})

async function digestOf(reply: IncomingMessage): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of reply) hash.update(chunk)
  return hash.digest('hex')
}

async function eventsOf(reply: IncomingMessage): Promise<{ type: string; response?: unknown }[]> {
  const chunks: Buffer[] = []
  for await (const chunk of reply) chunks.push(chunk)
  const frames = Buffer.concat(chunks)
    .toString()
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
  return frames.map((frame) => JSON.parse(frame.slice('data: '.length)))
}
