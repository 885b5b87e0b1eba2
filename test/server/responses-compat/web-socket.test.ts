import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { eventually } from '../../support/eventually.ts'
import { openSocket, refuseSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses, talkState, textOf } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { SHOP_FILES, shopAgent } from '../../support/shop.ts'

const talk = (input: unknown, more: object = {}) => ({ model: 'talk', input, ...more })
const endOf = (events: Json[]) => events.at(-1)

/** Events without what differs from one response to the next. */
function normalised(events: Json[]): string {
  return JSON.stringify(events)
    .replace(/(resp|msg)_[0-9a-f-]{36}/g, '$1')
    .replace(/"(created|completed)_at":\d+/g, '"$1_at":0')
}

describe('responses over a WebSocket', () => {
  afterEach(closeServers)

  it('send the events of a stream, one per frame', async () => {
    const server = await makeResponses()
    const { ask } = await openSocket(await server.listen())
    const events = await ask(talk('say one two'))
    const streamed = await server.app.inject({
      method: 'POST',
      url: '/v1/responses',
      payload: talk('say one two', { stream: true }),
    })
    const blocks = streamed.body.split('\n\n').filter((block) => block.startsWith('event: '))
    const data = blocks.map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)))
    expect(normalised(events)).to.equal(normalised(data))
    const { response } = endOf(events)
    const stored = await server.app.inject({ url: `/v1/responses/${response.id}` })
    expect(stored.json().output).to.deep.equal(response.output)
  })

  it('work with the official client, one after the other', async () => {
    const server = await makeResponses({ responsesApiKey: 'key-1234' })
    const client = new OpenAI({ baseURL: `${await server.listen()}/v1`, apiKey: 'key-1234' })
    const socket = new ResponsesWS(client)
    const said: string[] = []
    socket.send({ type: 'response.create', model: 'talk', input: 'say first', store: false })
    for await (const event of socket.stream()) {
      if (event.type !== 'message' || event.message.type !== 'response.completed') continue
      const { id, output_text, output } = event.message.response as Json
      said.push(output_text ?? output[0].content[0].text)
      if (said.length === 2) break
      socket.send({ type: 'response.create', model: 'talk', input: 'history', store: false, previous_response_id: id })
    }
    socket.close()
    expect([said[0], JSON.parse(said[1] ?? '')]).to.deep.equal([
      'first ',
      ['user: say first', 'assistant: first ', 'user: history'],
    ])
  })

  it('can be continued on the same socket without being stored, and nowhere else', async () => {
    const server = await makeResponses()
    const url = await server.listen()
    const one = await openSocket(url)
    const first = endOf(await one.ask(talk('say a', { store: false }))).response
    const second = endOf(await one.ask(talk('say b', { store: false, previous_response_id: first.id }))).response
    const third = endOf(await one.ask(talk('history', { previous_response_id: second.id }))).response
    const said = ['user: say a', 'assistant: a ', 'user: say b', 'assistant: b ', 'user: history']
    expect(JSON.parse(textOf(third))).to.deep.equal(said)
    expect((await server.inject('GET', `/${second.id}`)).statusCode).to.equal(404)
    const stored = await server.create('history', { previous_response_id: third.id })
    expect(JSON.parse(textOf(stored)).slice(0, 5)).to.deep.equal(said)
    const other = await openSocket(url)
    const [lost] = await other.ask(talk('say c', { store: false, previous_response_id: second.id }))
    expect(lost).to.deep.equal({
      type: 'error',
      status: 404,
      error: {
        message: 'Response not found',
        type: 'invalid_request_error',
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    })
    expect(endOf(await other.ask(talk('say c'))).type).to.equal('response.completed')
  })

  it('are decided once, also where nothing is stored', async () => {
    const { listen, project } = await makeServer({ adapters: ['ResponsesCompatApiAdapter'] }, SHOP_FILES)
    const { ask } = await openSocket(await listen())
    const first = endOf(await ask({ model: 'shop', input: 'please', store: false })).response
    const { id } = first.output.find(({ type }: Json) => type === 'mcp_approval_request')
    const input = [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }]
    const decision = { model: 'shop', input, store: false, previous_response_id: first.id }
    expect(endOf(await ask(decision)).type).to.equal('response.completed')
    expect(endOf(await ask(decision)).status).to.equal(409)
    expect(await project.read('paid.txt')).to.equal('pay 40\n')
  })

  it('are decided in time, also where nothing is stored: an approval that has expired executes nothing', async () => {
    const agent = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }', 'approval_ttl: 1')
    const { listen, project } = await makeServer(
      { adapters: ['ResponsesCompatApiAdapter'] },
      { ...SHOP_FILES, 'agents/shop.yml': agent },
    )
    const { ask } = await openSocket(await listen())
    const first = endOf(await ask({ model: 'shop', input: 'please', store: false })).response
    const { id } = first.output.find(({ type }: Json) => type === 'mcp_approval_request')
    const input = [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }]
    const untilMs = (first.completed_at + 2) * 1000
    while (Date.now() < untilMs) await wait(untilMs - Date.now())
    const late = endOf(await ask({ model: 'shop', input, store: false, previous_response_id: first.id }))
    expect([late.status, late.error.message]).to.deep.equal([409, 'The approval has expired'])
    expect(existsSync(project.path('paid.txt'))).to.equal(false)
  })

  it('are dropped if their continuation fails', async () => {
    const { ask } = await openSocket(await (await makeResponses()).listen())
    const first = endOf(await ask(talk('say a', { store: false }))).response
    const output = [{ type: 'function_call_output', call_id: 'none', output: 'x' }]
    const [refused] = await ask(talk(output, { store: false, previous_response_id: first.id }))
    expect([refused.status, refused.error.message]).to.deep.equal([400, "input: no call 'none' waits for an output"])
    const [lost] = await ask(talk('say b', { store: false, previous_response_id: first.id }))
    expect(lost.error.code).to.equal('previous_response_not_found')
  })

  it('run one after the other, with a limited queue', async () => {
    const { send, next } = await openSocket(await (await makeResponses()).listen())
    for (let n = 0; n < 20; n++) send({ type: 'response.create', ...talk(`count ${n === 0 ? 3 : 1}`) })
    const completed: number[] = []
    const open = new Set<string>()
    let refusals = 0
    while (completed.length + refusals < 20) {
      const event = await next()
      if (event.type === 'error') {
        refusals++
        expect(event.status).to.equal(503)
      }
      if (event.type === 'response.created') open.add(event.response.id)
      if (event.type === 'response.completed') {
        expect(open.size).to.equal(1)
        open.clear()
        completed.push(event.sequence_number)
      }
    }
    expect([completed.length, refusals]).to.deep.equal([17, 3])
  })

  it('report an invalid message, and continue', async () => {
    const { ask, next, send, socket } = await openSocket(await (await makeResponses()).listen())
    const errorOf = async (message: object | string) => {
      send(message)
      const { type, status, error } = await next()
      expect(type).to.equal('error')
      return [status, error.message, error.param]
    }
    expect(await errorOf('{')).to.deep.equal([400, (await errorOf('{'))[1], null])
    expect(await errorOf({ type: 'other' })).to.deep.equal([400, 'type must be response.create', 'type'])
    expect(await errorOf({ type: 'response.create', model: 'talk' })).to.deep.equal([
      400,
      'input and model are required',
      null,
    ])
    expect((await errorOf({ type: 'response.create', ...talk('a', { temperature: 'x' }) }))[2]).to.equal('temperature')
    expect((await errorOf({ type: 'response.create', ...talk('a', { background: true }) }))[2]).to.equal('background')
    expect((await errorOf({ type: 'response.create', model: 'tlak', input: 'a' }))[0]).to.equal(404)
    socket.send(Buffer.from([1]), { binary: true })
    expect((await next()).error.message).to.equal('A message must be text')
    const failed = endOf(await ask(talk('fail-after')))
    expect([failed.type, failed.response.error.code]).to.deep.equal(['response.failed', 'server_error'])
    expect(endOf(await ask(talk('say a'))).type).to.equal('response.completed')
  })

  it('need the key, an allowed host and an allowed origin before the upgrade', async () => {
    const server = await makeResponses({ responsesApiKey: 'key-1234', corsOrigins: ['https://app.example'] })
    const url = await server.listen()
    const authorization = 'Bearer key-1234'
    const refused = async (headers: Record<string, string>) => {
      const { status, body } = await refuseSocket(url, headers)
      return [status, body.detail]
    }
    expect(await refused({})).to.deep.equal([401, 'Missing Authorization header'])
    expect(await refused({ authorization: 'Bearer no' })).to.deep.equal([401, 'Invalid API key'])
    expect((await refused({ authorization, host: 'evil.example' }))[0]).to.equal(403)
    expect(await refused({ authorization, origin: 'https://evil.example' })).to.deep.equal([
      403,
      "Pages of 'https://evil.example' may not use this server",
    ])
    expect((await refuseSocket(url, { authorization }, '/compat/chat')).status).to.equal(404)
    for (const origin of ['https://app.example', url]) {
      const { ask } = await openSocket(url, { authorization, origin })
      expect(endOf(await ask(talk('say a'))).type).to.equal('response.completed')
    }
    const open = await (await makeResponses()).listen()
    expect((await refuseSocket(open, { origin: 'https://evil.example' })).status).to.equal(403)
    expect((await fetch(`${open}/v1/responses`)).status).to.equal(426)
  })

  it('are cancelled when the client disconnects', async () => {
    const server = await makeResponses()
    const { send, next, socket } = await openSocket(await server.listen())
    const before = talkState().aborted
    send({ type: 'response.create', ...talk('hang') })
    const { id } = (await next()).response
    await eventually(async () => expect(textOf(await server.get(id))).to.equal('begun '))
    socket.terminate()
    await eventually(() => expect(talkState().aborted).to.equal(before + 1))
    expect((await server.whenEnded(id)).status).to.equal('cancelled')
  })

  it('run on at full speed without their client if the request says so', async () => {
    const server = await makeResponses()
    const { send, next, socket } = await openSocket(await server.listen())
    send({ type: 'response.create', ...talk('flood 1500', { metadata: { on_disconnect: 'continue' } }) })
    const { id } = (await next()).response
    socket.terminate()
    expect((await server.whenEnded(id)).status).to.equal('completed')
  })

  it('end with a last frame and 1001 when the server stops', async () => {
    const server = await makeResponses({ drainTimeout: 1 })
    const url = await server.listen()
    const [idle, busy, endless] = [await openSocket(url), await openSocket(url), await openSocket(url)]
    const before = talkState().runs
    const ending = busy.ask(talk('count 10'))
    const cut = endless.ask(talk('hang'))
    await eventually(() => expect(talkState().runs).to.equal(before + 2))
    await server.close()
    expect(endOf(await ending).type).to.equal('response.completed')
    expect(endOf(await cut).type).to.equal('response.failed')
    expect(await Promise.all([idle.closed, busy.closed, endless.closed])).to.deep.equal([1001, 1001, 1001])
  })

  it('limit the size of a message, and unread data', async () => {
    const server = await makeResponses({ bodyLimit: 2000 })
    const url = await server.listen()
    const { closed, send } = await openSocket(url)
    send({ type: 'response.create', ...talk('x'.repeat(3000)) })
    expect(await closed).to.equal(1009)
    const slow = await openSocket(url)
    slow.socket.pause()
    // Other tests have left some of their own.
    const before = process.memoryUsage().arrayBuffers
    slow.send({ type: 'response.create', ...talk('flood 20000', { store: false }) })
    await new Promise((resolve) => setTimeout(resolve, 300))
    // Without a bound the whole answer waits in this process.
    expect(process.memoryUsage().arrayBuffers - before).to.be.lessThan(64 * 1024 * 1024)
    slow.socket.resume()
    let last: Json
    for (let event = await slow.next(); event; event = await slow.next()) {
      last = event
      if (event.type === 'response.completed') break
    }
    expect(last.type).to.equal('response.completed')
  })

  it('ignore other upgrades: the request is served over HTTP/1.1, with its body', async () => {
    const server = await makeResponses()
    const { hostname, port } = new URL(await server.listen())
    const body = JSON.stringify(talk('say a'))
    const head = `POST /v1/responses HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nIdempotency-Key: upgrade-1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const socket = connect(Number(port), hostname)
    let reply = ''
    socket.on('data', (data) => {
      reply += data
    })
    socket.write(head)
    setTimeout(() => socket.write(body), 20)
    await eventually(() => expect(reply).to.match(/^HTTP\/1\.1 200 OK[\s\S]*"text":"a "/))
    socket.destroy()
    const again = await server.inject('POST', '', talk('say a'), { 'idempotency-key': 'upgrade-1' })
    expect(again.headers['idempotent-replayed']).to.equal('true')
  })
})
