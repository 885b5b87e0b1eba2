import { expect } from 'chai'
import type { TSchema } from 'typebox'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { CompactResource, EVENTS, problems, ResponseResource } from '../../support/open-responses-schema.ts'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

// The cases of the compliance suite of Open Responses (https://www.openresponses.org/compliance), restated, against /v1.

const message = (role: string, content: string, more: object = {}) => ({ type: 'message', role, content, ...more })
const TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const PROJECT = {
  ...CLIENT_TOOLS_PROJECT,
  'agents/model.yml': `id: model
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ text: A summary of it. }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
}

describe("Open Responses' compliance suite", () => {
  let url: string
  beforeEach(async () => {
    url = await (await makeResponses({}, PROJECT)).listen()
  })
  afterEach(closeServers)

  async function post(path: string, body: object): Promise<{ status: number; json: Json; text: string }> {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await reply.text()
    return { status: reply.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined }
  }

  function expectFits(schema: TSchema | undefined, value: unknown): void {
    expect(problems(schema, value), JSON.stringify(value)).to.deep.equal([])
  }

  function expectCompleted(record: Json): void {
    expectFits(ResponseResource, record)
    expect(record.status).to.equal('completed')
    expect(record.output).to.not.deep.equal([])
  }

  async function create(body: object): Promise<Json> {
    const { status, json } = await post('/responses', { model: 'talk', ...body })
    expect(status).to.equal(200)
    expectFits(ResponseResource, json)
    return json
  }

  async function stream(body: object): Promise<Json[]> {
    const { text } = await post('/responses', { model: 'talk', stream: true, ...body })
    const blocks = text.split('\n\n').filter((block) => block !== '')
    expect(blocks.pop()).to.equal('data: [DONE]')
    return blocks.map((block) => {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      const event = JSON.parse(data ?? '')
      expect(event.type).to.equal(name)
      expectFits(EVENTS[event.type], event)
      return event
    })
  }

  function expectEvents(events: Json[]): Json {
    for (const event of events) expectFits(EVENTS[event.type], event)
    const { response } = events.at(-1)
    expectCompleted(response)
    return response
  }

  const ask = { type: 'response.create', model: 'talk', store: false }

  it('basic-response', async () => expectCompleted(await create({ input: [message('user', 'say hello')] })))

  it('assistant-phase', async () => {
    const input = [
      message('assistant', 'I should answer with the saved number.', { phase: 'commentary' }),
      message('assistant', 'The number is four.', { phase: 'final_answer' }),
      message('user', 'history'),
    ]
    expectCompleted(await create({ input }))
  })

  it('response-output-phase-schema', async () => {
    const record = await create({ input: 'say hello' })
    const output = [
      { ...record.output[0], phase: 'commentary' },
      { ...record.output[0], phase: 'final_answer' },
    ]
    expectFits(ResponseResource, { ...record, output })
  })

  it('streaming-response', async () => void expectEvents(await stream({ input: [message('user', 'say 1 2 3 4 5')] })))

  it('websocket-response', async () => {
    const socket = await openSocket(url)
    expectEvents(await socket.ask({ model: 'talk', input: [message('user', 'say 1 2 3')] }))
  })

  it('websocket-sequential-responses', async () => {
    const socket = await openSocket(url)
    const ids = []
    for (const input of ['say first', 'say second']) ids.push(expectEvents(await socket.ask({ ...ask, input })).id)
    expect(new Set(ids).size).to.equal(2)
  })

  it('websocket-continuation', async () => {
    const socket = await openSocket(url)
    const { id } = expectEvents(await socket.ask({ ...ask, input: 'say cobalt' }))
    expectEvents(await socket.ask({ ...ask, previous_response_id: id, input: 'history' }))
  })

  it('websocket-reconnect-store-false-recovery', async () => {
    const { id } = expectEvents(await (await openSocket(url)).ask({ ...ask, input: 'say copper' }))
    const socket = await openSocket(url)
    const [lost] = await socket.ask({ ...ask, previous_response_id: id, input: 'history' })
    expect([lost.type, lost.error.code]).to.deep.equal(['error', 'previous_response_not_found'])
    expectEvents(await socket.ask({ ...ask, input: [message('user', 'say recovered')] }))
  })

  it('websocket-previous-response-not-found', async () => {
    const socket = await openSocket(url)
    const [lost] = await socket.ask({ ...ask, previous_response_id: 'resp_openresponses_missing_1', input: 'say a' })
    expect([lost.type, lost.error.code]).to.deep.equal(['error', 'previous_response_not_found'])
  })

  it('websocket-failed-continuation-evicts-cache', async () => {
    const socket = await openSocket(url)
    const { id } = expectEvents(await socket.ask({ ...ask, input: 'say ember' }))
    const input = [{ type: 'function_call_output', call_id: 'call_openresponses_missing', output: 'No such call.' }]
    const [failed] = await socket.ask({ ...ask, previous_response_id: id, input })
    expect(failed.type).to.equal('error')
    const [lost] = await socket.ask({ ...ask, previous_response_id: id, input: 'say stale' })
    expect(lost.error.code).to.equal('previous_response_not_found')
  })

  it('websocket-compact-new-chain', async () => {
    const parts = (text: string) => [{ type: 'input_text', text }]
    const input = [
      { type: 'message', role: 'user', content: parts('Remember the compaction code word: slate.') },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK.' }] },
      { type: 'message', role: 'user', content: parts('Compress this conversation for later continuation.') },
    ]
    const { json } = await post('/responses/compact', { model: 'model', input })
    expectFits(CompactResource, json)
    const socket = await openSocket(url)
    const next = [...json.output, message('user', 'say compacted')]
    expectEvents(await socket.ask({ ...ask, input: next, tools: [] }))
  })

  it('system-prompt', async () => {
    const input = [message('system', 'You are a pirate.'), message('user', 'say ahoy')]
    expectCompleted(await create({ input }))
  })

  it('tool-calling', async () => {
    const body = { model: 'tools', tools: [TOOL], input: [message('user', 'get_weather Lima')] }
    const { output } = await create(body)
    expect(output.map(({ type }: Json) => type)).to.include('function_call')
    const types = (await stream(body)).map(({ type }) => type)
    expect(types).to.include.members([
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
    ])
  })

  it('image-input', async () => {
    const content = [
      { type: 'input_text', text: 'What do you see?' },
      { type: 'input_image', image_url: PIXEL },
    ]
    expectCompleted(await create({ model: 'sight', input: [{ type: 'message', role: 'user', content }] }))
  })

  it('multi-turn', async () => {
    const turns = [message('user', 'I am Alice.'), message('assistant', 'Hello Alice!'), message('user', 'history')]
    expectCompleted(await create({ input: turns }))
  })

  it('compact-response', async () => {
    const input = [message('user', 'We agreed to launch on Tuesday.'), message('assistant', 'Understood.')]
    const { status, json } = await post('/responses/compact', { model: 'model', prompt_cache_key: 'k', input })
    expect(status).to.equal(200)
    expectFits(CompactResource, json)
    expect(json.output.map(({ type }: Json) => type)).to.include('compaction')
  })

  it('compact-missing-model', async () => {
    expect((await post('/responses/compact', { input: [message('user', 'Compact this.')] })).status).to.equal(400)
  })
})
