import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { eventually } from '../../support/eventually.ts'
import { actState, makeMcp } from '../../support/mcp.ts'
import { connectRaw, rawPost } from '../../support/raw-http.ts'
import { readAsItComes } from '../../support/read-stream.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** Of a request of the newest version. */
const NEWEST = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** An agent that says 30 MiB, and counts the pieces that it could send. */
const FLOOD = {
  'agents/flood.yml': 'id: flood\nmodules: [{ id: main, module: flood }]',
  'modules/flood.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Flood', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() {
    for (let n = 0; n < 30 * 1024; n++) { await response.respondText('.'.repeat(1024)); globalThis.floodSaid++ }
  } }) })`,
}

const called = (
  message: string,
  { id = 1, progressToken }: { id?: string | number; progressToken?: unknown } = {},
) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: {
    name: 'act',
    arguments: { message },
    ...(progressToken === undefined ? {} : { _meta: { progressToken } }),
  },
})

/** A request whose answer is read as it comes. */
async function open(url: string, body: object, headers: Readonly<Record<string, string>> = ACCEPT) {
  const leaving = new AbortController()
  const reply = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: leaving.signal,
  })
  const { text, done } = readAsItComes(reply)
  return {
    type: reply.headers.get('content-type'),
    text,
    messages: (): Json[] =>
      text()
        .split('\n\n')
        .filter((event) => event.startsWith('event: message\ndata: '))
        .map((event) => JSON.parse(event.slice('event: message\ndata: '.length))),
    leave: () => leaving.abort(),
    done,
  }
}

describe('progress of a call', () => {
  afterEach(closeServers)
  afterEach(() => {
    actState().gate = undefined
  })

  it('sends text as progress while the agent works, then the result', async () => {
    const { listen } = await makeMcp()
    const gate = deferred()
    actState().gate = gate.promise
    const call = await open(await listen(), called('count 3', { id: 'a', progressToken: 'token' }))
    await eventually(() => expect(call.messages()).to.have.length(1))
    gate.resolve()
    await call.done
    expect(call.type).to.equal('text/event-stream; charset=utf-8')
    const progress = (n: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'token', progress: n + 1, message: `w${n} ` },
    })
    expect(call.messages()).to.deep.equal([
      progress(0),
      progress(1),
      progress(2),
      { jsonrpc: '2.0', id: 'a', result: { content: [{ type: 'text', text: 'w0 w1 w2 ' }] } },
    ])
  })

  it("sends the agent's progress reports, which are not part of the answer", async () => {
    const { listen } = await makeMcp()
    const call = await open(await listen(), called('report', { progressToken: 0 }))
    await call.done
    expect(call.messages().map(({ params, result }) => params?.message ?? result.content[0].text)).to.deep.equal([
      'half of it',
      'all of it',
      'all of it',
    ])
  })

  it('skips progress for a slow client, and still sends the result', async () => {
    const { listen } = await makeMcp()
    const call = await open(await listen(), called('report-much 5000', { progressToken: 1 }))
    await call.done
    const messages = call.messages()
    expect(messages.at(-1).result.content).to.deep.equal([{ type: 'text', text: 'done' }])
    expect(messages.length).to.be.below(5000)
  })

  it('waits for a client of the newest version that does not read, and goes on when it does', async () => {
    const state = globalThis as { floodSaid?: number }
    state.floodSaid = 0
    const { listen } = await makeMcp({}, FLOOD)
    const body = called('go', { progressToken: 1 })
    Object.assign(body.params, { name: 'flood', _meta: { ...body.params._meta, ...NEWEST } })
    const head = `Host: localhost\r\nAccept: ${ACCEPT.accept}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: flood`
    const { socket } = await connectRaw(await listen(), rawPost('/mcp', body, head), { reads: false })
    let said = -1
    await eventually(() => {
      const before = said
      said = state.floodSaid ?? 0
      expect(said).to.equal(before).and.greaterThan(0)
    })
    // The system's buffers between them hold several megabytes.
    expect(said).to.be.lessThan(20 * 1024)
    socket.resume()
    await eventually(() => expect(state.floodSaid).to.equal(30 * 1024), 30_000)
    socket.destroy()
  })

  it('is omitted for clients that cannot read a stream, or do not want one', async () => {
    const { listen } = await makeMcp()
    const url = await listen()
    const json = 'application/json; charset=utf-8'
    expect((await open(url, called('say x'))).type).to.equal(json)
    const accept = { ...ACCEPT, accept: 'application/json' }
    expect((await open(url, called('say x', { progressToken: 1 }), accept)).type).to.equal(json)
    expect((await open(url, { ...called('', { progressToken: 1 }), params: { name: 'nobody' } })).type).to.equal(json)
  })

  it('ends with an error when the agent fails', async () => {
    const { listen } = await makeMcp()
    const call = await open(await listen(), called('fail', { progressToken: 1 }))
    await call.done
    expect(call.messages()).to.deep.equal([
      { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Agent execution failed' } },
    ])
  })

  it('ends with an error if the answer cannot be serialized, streamed or not', async () => {
    const { listen } = await makeMcp()
    const url = await listen()
    const streamed = await open(url, called('attach-nothing', { progressToken: 1 }))
    await streamed.done
    const failed = { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Agent execution failed' } }
    expect(streamed.messages().at(-1)).to.deep.equal(failed)
    const plain = await open(url, called('attach-nothing'))
    await plain.done
    expect(JSON.parse(plain.text())).to.deep.equal(failed)
  })

  it('sends keep-alive comments, and ends when the server stops', async () => {
    const { listen, close } = await makeMcp({ streamingTimeout: 1 })
    const call = await open(await listen(), called('hang', { progressToken: 1 }))
    await eventually(() => expect(call.text()).to.include(': keep-alive\n\n'), 5000)
    await close()
    await call.done
    expect(call.messages().at(-1)).to.deep.include({ id: 1, error: { code: -32603, message: 'The run was aborted.' } })
  })

  describe('aborts the call', () => {
    const untilAborted = (name: string) => eventually(() => expect(actState().aborted).to.include(name))

    it('when its client disconnects, streamed or not', async () => {
      const { listen } = await makeMcp()
      const url = await listen()
      const streamed = await open(url, called('hang streamed', { progressToken: 1 }))
      await eventually(() => expect(streamed.messages()).to.have.length(1))
      streamed.leave()
      await untilAborted('streamed')
      const leaving = new AbortController()
      const init = {
        method: 'POST',
        headers: ACCEPT,
        body: JSON.stringify(called('hang plain')),
        signal: leaving.signal,
      }
      const plain = fetch(`${url}/mcp`, init).catch(() => 'left')
      await eventually(() => expect(actState().begun).to.include('plain'))
      leaving.abort()
      expect(await plain).to.equal('left')
      await untilAborted('plain')
    })

    it('when a client of the newest version disconnects', async () => {
      const { listen } = await makeMcp()
      const body = called('hang newest')
      Object.assign(body.params, { _meta: NEWEST })
      const leaving = new AbortController()
      const headers = { ...ACCEPT, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'act' }
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal }
      const call = fetch(`${await listen()}/mcp`, init).then(
        (reply) => reply.text(),
        () => 'left',
      )
      await eventually(() => expect(actState().begun).to.include('newest'))
      leaving.abort()
      expect(await call.catch(() => 'left')).to.equal('left')
      await untilAborted('newest')
    })

    it('when its client cancels it, but not another one with the same id', async () => {
      const { listen, post } = await makeMcp()
      const url = await listen()
      const session = (name: string) => ({ ...ACCEPT, 'mcp-session-id': name })
      const [one, other, text] = await Promise.all([
        open(url, called('hang one', { id: 7, progressToken: 1 }), session('s1')),
        open(url, called('hang other', { id: 7, progressToken: 1 }), session('s2')),
        open(url, called('hang text', { id: '7', progressToken: 1 }), session('s1')),
      ])
      await eventually(() => expect([one, other, text].map((call) => call.messages().length)).to.deep.equal([1, 1, 1]))
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'changed' } }
      expect((await post(JSON.stringify(cancel), { 'mcp-session-id': 's1' })).statusCode).to.equal(202)
      await one.done
      expect(one.messages().at(-1)).to.deep.include({ id: 7, error: { code: -32603, message: 'The run was aborted.' } })
      await untilAborted('one')
      expect(actState().aborted).to.not.include.members(['other'])
      expect(actState().aborted).to.not.include.members(['text'])
      other.leave()
      text.leave()
      await untilAborted('text')
    })
  })
})
