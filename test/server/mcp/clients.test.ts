import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { actState, makeMcp } from '../../support/mcp.ts'
import { closeServers } from '../../support/server.ts'

const INFO = { name: 'test', version: '1.0.0' }
const KEY = 'key-1234'
const requestInit = { headers: { authorization: `Bearer ${KEY}` } }

/** What the clients of both lines have in common, as far as it is used here. */
interface AnyClient {
  close(): Promise<void>
  listTools(): Promise<{ tools: { name: string }[] }>
  call(name: string, message: string, options?: CallOptions): Promise<{ content: unknown }>
}

interface CallOptions {
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void
  readonly signal?: AbortSignal
}

async function connectFirst(url: URL): Promise<AnyClient> {
  const client = new FirstClient(INFO)
  await client.connect(new FirstTransport(url, { requestInit }) as Parameters<FirstClient['connect']>[0])
  expect(client.getServerVersion()?.name).to.equal('agent-host')
  return {
    close: () => client.close(),
    listTools: () => client.listTools(),
    call: async (name, message, options) => {
      const result = await client.callTool({ name, arguments: { message } }, undefined, options)
      return { content: result.content }
    },
  }
}

async function connectSecond(
  url: URL,
  mode: 'auto' | undefined,
  version: string,
  through: typeof fetch = fetch,
): Promise<AnyClient & { client: Client }> {
  const client = new Client(INFO, mode ? { versionNegotiation: { mode } } : {})
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: through }))
  expect(client.getNegotiatedProtocolVersion()).to.equal(version)
  expect(client.getServerVersion()?.name).to.equal('agent-host')
  return {
    client,
    close: () => client.close(),
    listTools: () => client.listTools(),
    call: (name, message, options) => client.callTool({ name, arguments: { message } }, options),
  }
}

const CLIENTS: readonly [string, (url: URL) => Promise<AnyClient>][] = [
  ['sdk 1', connectFirst],
  ['client 2', (url) => connectSecond(url, undefined, '2025-11-25')],
  ['client 2 that looks for the newest version', (url) => connectSecond(url, 'auto', '2026-07-28')],
]

describe('MCP with the official clients', () => {
  let server: Awaited<ReturnType<typeof makeMcp>>
  let url: URL
  beforeEach(async () => {
    server = await makeMcp({ mcpApiKey: KEY, logLevel: 'silent' })
    url = new URL(`${await server.listen()}/mcp`)
  })
  afterEach(closeServers)

  for (const [title, connect] of CLIENTS) {
    describe(title, () => {
      let client: AnyClient
      beforeEach(async () => {
        client = await connect(url)
      })
      afterEach(() => client.close())

      it('lists and calls tools, and sees progress and failures', async () => {
        const { tools } = await client.listTools()
        expect(tools.map(({ name }) => name)).to.include.members(['act', 'desk.sales', 'sum'])
        expect((await client.call('echo', 'hello')).content).to.deep.equal([{ type: 'text', text: 'hello' }])
        expect(((await client.call('act', 'attach')).content as unknown[]).length).to.equal(5)
        const told: unknown[] = []
        await client.call('act', 'count 3', { onprogress: ({ progress, message }) => told.push([progress, message]) })
        expect(told).to.deep.equal([
          [1, 'w0 '],
          [2, 'w1 '],
          [3, 'w2 '],
        ])
        const failure = await client.call('act', 'fail').catch((error: Error) => error.message)
        expect(failure).to.match(/Agent execution failed/)
        const unknown = await client.call('nobody', 'x').catch((error: Error) => error.message)
        expect(unknown).to.match(/There is no agent 'nobody'/)
      })

      it('cancels a running call', async () => {
        const leaving = new AbortController()
        const name = title.replaceAll(' ', '-')
        const onprogress = () => leaving.abort()
        const outcome = await client
          .call('act', `hang ${name}`, { signal: leaving.signal, onprogress })
          .catch(() => 'cancelled')
        expect(outcome).to.equal('cancelled')
        await eventually(() => expect(actState().aborted).to.include(name))
      })
    })
  }

  it('keeps 20 concurrent clients with the same ids apart', async () => {
    const clients = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (CLIENTS[n % 3] as (typeof CLIENTS)[number])[1](url)),
    )
    const answers = await Promise.all(clients.map((client, n) => client.call('act', `say number ${n}`)))
    expect(answers.map(({ content }) => content)).to.deep.equal(
      clients.map((_, n) => [{ type: 'text', text: `number ${n}` }]),
    )
    await Promise.all(clients.map((client) => client.close()))
  })

  it('notifies clients of the newest version when agents change', async () => {
    const { client, close } = await connectSecond(url, 'auto', '2026-07-28')
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      changes++
    })
    await client.listen({ toolsListChanged: true })
    await server.host.register({ id: 'newcomer', modules: [{ id: 'm', module: 'echo' }] })
    await eventually(() => expect(changes).to.be.greaterThan(0))
    expect((await client.listTools()).tools.map(({ name }) => name)).to.include('newcomer')
    await close()
  })

  it("logs an agent's error with the id of its request, in either protocol", async () => {
    const logged: { reqId: string }[] = []
    server.app.log.error = ((facts: { reqId: string }) => void logged.push(facts)) as typeof server.app.log.error
    const params = { name: 'act', arguments: { message: 'fail' } }
    const payload = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const plain = await server.post(payload, requestInit.headers)
    const answers: string[] = []
    const { client, close } = await connectSecond(url, 'auto', '2026-07-28', async (input, init) => {
      const answer = await fetch(input, init)
      answers.push(answer.headers.get('x-request-id') ?? '')
      return answer
    })
    await client.callTool(params).catch(() => {})
    expect(logged.map(({ reqId }) => reqId)).to.deep.equal([plain.headers['x-request-id'], answers.at(-1)])
    await close()
  })

  it('rejects clients without the key', async () => {
    const client = new FirstClient(INFO)
    const transport = new FirstTransport(url) as Parameters<FirstClient['connect']>[0]
    const failure = await client.connect(transport, { timeout: 1000 }).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(Error)
    await client.close()
  })

  it('ends calls and subscriptions when the server stops', async () => {
    const { client, close } = await connectSecond(url, 'auto', '2026-07-28')
    await client.listen({ toolsListChanged: true })
    const hanging = client.callTool({ name: 'act', arguments: { message: 'hang at-stop' } }).catch(() => 'ended')
    await eventually(() => expect(actState().begun).to.include('at-stop'))
    const startedMs = Date.now()
    await server.close()
    expect(Date.now() - startedMs).to.be.below(3000)
    expect(await hanging).to.equal('ended')
    await close()
  })
})
