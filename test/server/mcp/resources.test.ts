import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { VISITS } from '../../../src/host/host.ts'
import { Visits } from '../../../src/host/visits.ts'
import { LocalCallMemory } from '../../../src/server/adapters/mcp/call-memory/local-call-memory.ts'
import { AgentResources, maxLength } from '../../../src/server/adapters/mcp/resources/agent-resources.ts'
import { BatchReads } from '../../../src/server/adapters/mcp/tools/agent-tools.ts'
import { MIN_BYTES } from '../../../src/server/bodies/byte-budget.ts'
import { countTurns } from '../../support/count-turns.ts'
import { makeMcp } from '../../support/mcp.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const FILES = {
  'agents/keeper.yml': `id: keeper
expose: [memory]
modules:
  - { id: notes, module: notes, scope: agent }
  - { id: main, module: act }`,
  'agents/private.yml': `id: private
modules:
  - { id: notes, module: notes, scope: agent }
  - { id: main, module: act }`,
  'agents/guide.yml': 'id: guide\nconversation: true\nexpose: [conversations]\nmodules: [{ id: main, module: act }]',
  'agents/remembers.yml': `id: remembers
expose: [conversations]
modules:
  - { id: kept, module: conversation/persistent }
  - { id: main, module: counts }
exchange:
  - { module: main, protocol: ConversationHistory, provider: kept }`,
  'modules/counts.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Counts', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text, run) {
    await response.respondText(String((await history.getHistory(run)).length))
  } }) })`,
  'modules/notes.ts': `import { defineModule, Memory } from 'agent-host'
const entries = [['a/1', 'Tea at five'], ['b', 'Key is hunter2-secret']].map(([id, text]) => ({ id, text, metadata: {} }))
export default defineModule({ name: 'Notes', provides: [Memory], create: () => ({
  store: async () => 'x', search: async () => [], update: async () => false, delete: async () => false,
  list: async () => entries, get: async (id) => entries.find((entry) => entry.id === id) }) })`,
}

describe('resources over MCP', () => {
  afterEach(closeServers)

  for (const version of ['2025-06-18', '2026-07-28']) {
    it(`are memories and saved conversations of agents that expose them, ${version}`, async () => {
      const { client } = await connect(version, FILES)
      expect(client.getServerCapabilities()).to.have.property('resources')
      await client.callTool({ name: 'guide', arguments: { message: 'say hello there' } })
      const { resources } = await client.listResources()
      expect(resources.map(({ name }) => name)).to.deep.equal(['guide: say hello there', 'keeper: notes'])
      const [conversation = '', memory = ''] = resources.map(({ uri }) => uri)
      expect(await readJson(client, conversation)).to.deep.equal([
        { role: 'user', content: 'say hello there' },
        { role: 'assistant', content: 'hello there' },
      ])
      expect(memory).to.equal('agent-host://keeper/memory/notes')
      expect((await readJson(client, memory)).map(({ id }: Json) => id)).to.deep.equal(['b', 'a/1'])
      await client.close()
    })

    it(`have templates for single entries and conversations of modules, ${version}`, async () => {
      const { client, server } = await connect(version, FILES)
      const { resourceTemplates } = await client.listResourceTemplates()
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).to.deep.equal([
        'agent-host://keeper/memory/notes/{id}{?user}',
        'agent-host://remembers/conversations/kept/{conversation_id}{?user}',
      ])
      expect(await readJson(client, 'agent-host://keeper/memory/notes/a%2F1')).to.deep.equal({
        id: 'a/1',
        text: 'Tea at five',
        metadata: {},
      })
      const turn = {
        messages: [{ role: 'user', content: 'how many' }],
        user: 'ann',
        metadata: { conversation_id: 'c 1' },
      } as const
      await server.host.start('remembers', turn).result
      const kept = 'agent-host://remembers/conversations/kept/c%201'
      expect(await readJson(client, `${kept}?user=ann`)).to.deep.equal([
        { role: 'user', content: 'how many' },
        { role: 'assistant', content: '1' },
      ])
      expect(await problemOf(client, kept)).to.match(/Resource not found/)
      await client.close()
    })

    it(`include nothing that is not exposed, ${version}`, async () => {
      const { client } = await connect(version, FILES)
      for (const uri of [
        'agent-host://private/memory/notes',
        'agent-host://keeper/memory/main',
        'agent-host://keeper/memory/notes/nothing',
        'agent-host://keeper/conversations/0',
        'agent-host://nobody/memory/notes',
        'file:///etc/passwd',
      ]) {
        expect(await problemOf(client, uri)).to.match(/Resource not found/)
      }
      await client.close()
    })

    it(`are absent from the protocol if no agent exposes anything, ${version}`, async () => {
      const { client } = await connect(version)
      expect(client.getServerCapabilities()).to.not.have.property('resources')
      await client.close()
    })
  }

  it('list the users of a memory that keeps them apart, and read what is remembered of each', async () => {
    const { client } = await connect('2025-06-18', {
      'agents/desk.yml': `id: desk\nexpose: [memory]\nmodules:\n  - { id: notes, module: notes, scope: agent }\n  - { id: main, module: act }`,
      'modules/notes.ts': `import { defineModule, Memory } from 'agent-host'
export default defineModule({ name: 'Notes', provides: [Memory], create: () => ({
  store: async () => 'x', search: async () => [], update: async () => false, delete: async () => false,
  owners: async () => [{ user: '', count: 1 }, { user: 'ada lovelace', count: 1 }, { user: 'half \\ud83d', count: 1 }],
  get: async (id, run) => ({ id, text: 'of ' + run.user, metadata: {} }),
  list: async (run) => [{ id: 'a', text: 'of ' + run.user, metadata: {} }] }) })`,
    })
    const { resources } = await client.listResources()
    const memory = 'agent-host://desk/memory/notes'
    expect(resources.map(({ uri, name }) => [uri, name])).to.deep.equal([
      [memory, 'desk: notes'],
      [`${memory}?user=ada%20lovelace`, 'desk: notes of ada lovelace'],
      [`${memory}?user=half%20%EF%BF%BD`, 'desk: notes of half \ud83d'],
    ])
    expect(await readJson(client, `${memory}?user=ada%20lovelace`)).to.deep.equal([
      { id: 'a', text: 'of ada lovelace', metadata: {} },
    ])
    expect(await readJson(client, `${memory}/a?user=bob`)).to.include({ text: 'of bob' })
    expect((await readJson(client, memory))[0]).to.include({ text: 'of undefined' })
    await client.close()
  })

  it('are read once for a batch that names them several times', async () => {
    const { post } = await makeMcp(
      {},
      {
        'agents/counter.yml':
          'id: counter\nexpose: [memory]\nmodules: [{ id: main, module: act }, { id: reads, module: reads }]',
        'modules/reads.ts': `import { defineModule, Memory } from 'agent-host'
let reads = 0
export default defineModule({ name: 'Reads', provides: [Memory], create: () => ({
  store: async () => 'x', search: async () => [], update: async () => false, delete: async () => false,
  list: async () => [], get: async (id) => ({ id, text: String(++reads), metadata: {} }) }) })`,
      },
    )
    const read = (entry: string, id: number) => {
      const params = { uri: `agent-host://counter/memory/reads/${entry}` }
      return { jsonrpc: '2.0', id, method: 'resources/read', params }
    }
    const batch = JSON.stringify(['a', 'b', 'a', 'a', 'b'].map(read))
    const answers: Json[] = (await post(batch, { 'mcp-protocol-version': '2025-03-26' })).json()
    expect(answers.map(({ id, result }) => [id, JSON.parse(result.contents[0].text).text])).to.deep.equal([
      [0, '1'],
      [1, '2'],
      [2, '1'],
      [3, '1'],
      [4, '2'],
    ])
  })

  it('do not change capabilities if no agent exposes anything', async () => {
    const { ask } = await makeMcp()
    const params = { protocolVersion: '2024-11-05', clientInfo: { name: 'test', version: '1' }, capabilities: {} }
    expect((await ask({ id: 1, method: 'initialize', params })).result.capabilities).to.deep.equal({ tools: {} })
    expect((await ask({ id: 2, method: 'resources/list' })).error).to.include({ code: -32601 })
  })

  it('are listed page by page, each once, in the order of their addresses', async () => {
    const memory = new LocalCallMemory()
    const agents = ['b', 'a', 'a-b', 'private']
    for (let n = 0; n < 2400; n++) {
      await memory.writeConversation(undefined, { agentId: agents[n % 4] as string, messages: [] })
    }
    const modules = [{ id: 'notes', provides: ['Memory'] }]
    const host = {
      list: () => agents.map((id) => ({ id, expose: id === 'private' ? [] : ['memory', 'conversations'] })),
      describe: () => ({ modules }),
      callModule: async () => undefined,
      [VISITS]: new Visits(),
    } as unknown as AgentHost
    const resources = new AgentResources({ host, memory, redact: (text) => text })
    const pages = [await resources.list(undefined, '')]
    while (pages.at(-1)?.nextCursor !== undefined) pages.push(await resources.list(pages.at(-1)?.nextCursor, ''))
    const uris = pages.flatMap((page) => page.resources.map(({ uri }) => uri))
    expect(pages.map((page) => page.resources.length)).to.deep.equal([1000, 803])
    expect(uris).to.deep.equal([...new Set(uris)].sort())
  })

  it('are JSON where a text names the beginning of a private key', async () => {
    const notes = FILES['modules/notes.ts'].replace(
      'Tea at five',
      'It begins with -----BEGIN PRIVATE KEY-----, always.',
    )
    const { client } = await connect('2025-06-18', { ...FILES, 'modules/notes.ts': notes })
    expect(await readJson(client, 'agent-host://keeper/memory/notes/a%2F1')).to.deep.equal({
      id: 'a/1',
      text: 'It begins with -----BEGIN PRIVATE KEY-----[redacted]',
      metadata: {},
    })
    await client.close()
  })

  it('contain no secrets of the environment', async () => {
    Object.assign(process.env, { NOTES_SECRET: 'hunter2-secret', NOTES_PASSWORD: '12345678' })
    try {
      const notes = FILES['modules/notes.ts'].replace('metadata: {}', 'metadata: { order: 123456789 }')
      const { client } = await connect('2025-06-18', { ...FILES, 'modules/notes.ts': notes })
      const [{ text, metadata }] = await readJson(client, 'agent-host://keeper/memory/notes')
      expect([text, metadata]).to.deep.equal(['Key is [redacted]', { order: '[redacted]9' }])
      await client.close()
    } finally {
      delete process.env.NOTES_SECRET
      delete process.env.NOTES_PASSWORD
    }
  })
})

async function connect(version: string, files: Record<string, string> = {}) {
  const server = await makeMcp({}, files)
  const mode = version === '2026-07-28' ? 'auto' : 'legacy'
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', await server.listen())))
  return { client, server }
}

async function readJson(client: Client, uri: string): Promise<Json> {
  const { contents } = await client.readResource({ uri })
  const [content] = contents as [{ uri: string; mimeType: string; text: string }]
  expect([content.uri, content.mimeType]).to.deep.equal([uri, 'application/json'])
  return JSON.parse(content.text)
}

function problemOf(client: Client, uri: string): Promise<string> {
  return client.readResource({ uri }).then(
    () => 'it was read',
    (error: Error) => error.message,
  )
}

describe('reads of a batch', () => {
  it('take a turn of the event loop each, also where all is in memory', async () => {
    const batch = new BatchReads()
    const turns = countTurns()
    const read = (_: unknown, index: number) =>
      batch.read(
        `${index}`,
        async () => ({ index }),
        (look) => look(),
      )
    expect(await Promise.all(Array.from({ length: 50 }, read))).to.have.length(50)
    expect(turns()).to.be.greaterThan(45)
  })

  it('take the room of a large answer once, also where other messages have come to as much before', async () => {
    for (const before of [0, MIN_BYTES]) {
      const batch = new BatchReads()
      if (before > 0) batch.admits(before)
      const taken: number[] = []
      for (const name of ['a', 'b', 'c']) {
        await batch.read(
          name,
          async () => ({ text: 'x'.repeat(MIN_BYTES) }),
          async (read, lengthOf) => {
            const value = await read()
            taken.push(lengthOf(value))
            return value
          },
        )
      }
      expect([before, taken.filter((bytes) => bytes > 0).length, taken[0]]).to.deep.equal([before, 1, maxLength()])
    }
  })
})
