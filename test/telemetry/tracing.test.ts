import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { type ReceivedSpan, startCollector } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'
const ALL_ADAPTERS = { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'] }
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`
const SECRET = 'canary-of-the-tests'
const AGENTS = {
  'agents/guide.yml': `id: guide
modules:
  - id: llm
    module: llm/mock
    config:
      replies:
        - tool_calls: [{ name: weather, arguments: { city: Limatown } }, { name: clock, arguments: {} }]
          usage: { input_tokens: 30, output_tokens: 7 }
        - { text: It is fine over there, usage: { input_tokens: 40, output_tokens: 5 } }
  - { id: tools, module: two-tools, scope: agent }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/two-tools.ts': `import { defineModule, ToolProvider } from 'agent-host'
const tool = (name) => ({ name, description: name, parameters: { type: 'object' } })
export default defineModule({ name: 'TwoTools', provides: [ToolProvider], create: () => ({
  listTools: () => [tool('weather'), tool('clock')],
  async executeTool(name, args) {
    await new Promise((resolve) => setTimeout(resolve, 60))
    if (name === 'clock') return { text: 'the clock stands still', isError: true }
    throw new TypeError('no weather with ${SECRET}')
  } }) })`,
  'agents/stray.yml': `id: stray
modules:
  - { id: tools, module: two-tools }
  - { id: main, module: stray }`,
  'modules/stray.ts': `import { defineModule, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Stray', provides: [TextMessageHandler], uses: { tools: ToolProvider },
  create: ({ tools }) => ({ async handleText(text, run) {
    void tools.executeTool('weather', {}, run).catch(() => tools.executeTool('late', {}, run)).catch(() => {})
  } }) })`,
}

const variables: Record<string, string | undefined> = {}

function setVariables(values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (!(name in variables)) variables[name] = process.env[name]
    process.env[name] = value
  }
}

function restoreVariables(): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
    delete variables[name]
  }
}

const collectors: Awaited<ReturnType<typeof startCollector>>[] = []

async function makeTracedServer(
  environment: Readonly<Record<string, string>> = {},
  options: { adapters?: string[] } = {},
) {
  const collector = await startCollector()
  collectors.push(collector)
  setVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', ...environment })
  return { collector, server: await makeServer(options, AGENTS) }
}

/** One run to its end, and the spans of it once the server is closed. */
async function trace(model: string, content: string, environment?: Readonly<Record<string, string>>) {
  const { collector, server } = await makeTracedServer(environment)
  const events: { time: number; duration_ms: number | null; parent_call_id: string | null }[] = []
  server.host.onEvent((event) => void events.push(event))
  const { statusCode } = await server.app.inject({ method: 'POST', url: COMPLETIONS, payload: chat(model, content) })
  await server.close()
  return { collector, spans: collector.spans(), statusCode, events }
}

/** Each span as `parent > name`. */
function treeOf(spans: readonly ReceivedSpan[]): string[] {
  const nameOf = (id: string | undefined) => spans.find(({ spanId }) => spanId === id)?.name ?? null
  return spans.map(({ name, parentSpanId }) => `${nameOf(parentSpanId)} > ${name}`)
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.find((span) => span.name === name)
  if (!found) throw new Error(`There is no span '${name}' among: ${spans.map((span) => span.name).join(', ')}`)
  return found
}

describe('spans', () => {
  afterEach(async () => {
    await closeServers()
    restoreVariables()
    await Promise.all(collectors.splice(0).map((collector) => collector.stop()))
  })

  it('form a tree of one run, with parallel tools', async () => {
    const { spans, collector, statusCode } = await trace('guide', 'What is the weather?')
    expect(statusCode).to.equal(200)
    expect([...collector.paths]).to.deep.equal(['/v1/traces'])
    expect(treeOf(spans)).to.have.members([
      'null > invoke_agent guide',
      'invoke_agent guide > loop.handleText',
      'loop.handleText > tools.listTools',
      'loop.handleText > __conversation__.getHistory',
      'loop.handleText > chat mock',
      'loop.handleText > execute_tool weather',
      'loop.handleText > execute_tool clock',
      'loop.handleText > chat mock',
    ])
    const [weather, clock] = [named(spans, 'execute_tool weather'), named(spans, 'execute_tool clock')]
    expect(clock.startMs).to.be.below(weather.endMs)
  })

  it('form one trace with those of agents that an agent called, on three levels; tokens add up', async () => {
    const caller = (id: string, called: string, tokens: number) => `id: ${id}
modules:
  - id: llm
    module: llm/mock
    config:
      replies:
        - { tool_calls: [{ name: ${called}, arguments: { message: go } }], usage: { input_tokens: ${tokens}, output_tokens: 1 } }
        - { text: '${id} is done', usage: { input_tokens: ${tokens}, output_tokens: 1 } }
  - { id: team, module: tools/agents, config: { agents: [${called}] } }
  - { id: loop, module: orchestrator/tool-loop }`
    const { collector, server } = await makeTracedServer()
    await server.host.register(caller('clerk', 'guide', 100))
    await server.host.register(caller('front', 'clerk', 1000))
    const { usage } = await server.host.run('front', 'What is the weather?')
    await server.close()
    const spans = collector.spans()
    expect(new Set(spans.map(({ traceId }) => traceId)).size).to.equal(1)
    expect(treeOf(spans.filter(({ name }) => /^(invoke_agent|execute_tool)/.test(name)))).to.have.members([
      'null > invoke_agent front',
      'null > execute_tool clerk',
      'execute_tool clerk > invoke_agent clerk',
      'null > execute_tool guide',
      'execute_tool guide > invoke_agent guide',
      'null > execute_tool weather',
      'null > execute_tool clock',
    ])
    const counted = spans.map(({ attributes }) => Number(attributes['gen_ai.usage.input_tokens'] ?? 0))
    expect(counted.reduce((sum, tokens) => sum + tokens)).to.equal(2270)
    expect(usage).to.include({ inputTokens: 2270, outputTokens: 16 })
  })

  it('carry the attributes of the conventions and of the run', async () => {
    const { spans } = await trace('guide', 'What is the weather?')
    const root = named(spans, 'invoke_agent guide')
    const runId = root.attributes['agent_host.run_id'] as string
    const ofRun = { 'agent_host.run_id': runId, 'agent_host.entry_point': '__entry__' }
    const ofAgent = { 'gen_ai.agent.name': 'guide' }
    const { 'agent_host.first_text_ms': firstTextMs, ...ofRoot } = root.attributes
    expect([root.kind, root.status, ofRoot]).to.deep.equal([
      1,
      { code: 0 },
      { 'gen_ai.operation.name': 'invoke_agent', ...ofAgent, ...ofRun, 'agent_host.status': 'completed' },
    ])
    expect(firstTextMs).to.be.within(60, 5000)
    expect(named(spans, 'loop.handleText').attributes).to.deep.equal({
      ...ofRun,
      'agent_host.module_id': 'loop',
      'agent_host.module': 'orchestrator/tool-loop',
    })
    const ofModel = {
      'gen_ai.provider.name': 'agent-host',
      'gen_ai.request.model': 'mock',
      'gen_ai.request.stream': true,
    }
    const chats = spans.filter(({ name }) => name === 'chat mock')
    expect(chats.map(({ kind, attributes }) => [kind, attributes])).to.deep.equal([
      [
        3,
        {
          'gen_ai.operation.name': 'chat',
          ...ofAgent,
          ...ofModel,
          ...ofRun,
          'agent_host.module_id': 'llm',
          'agent_host.module': 'llm/mock',
          'gen_ai.response.model': 'mock',
          'gen_ai.usage.input_tokens': 30,
          'gen_ai.usage.output_tokens': 7,
          'gen_ai.response.finish_reasons': ['tool_calls'],
        },
      ],
      [
        3,
        {
          'gen_ai.operation.name': 'chat',
          ...ofAgent,
          ...ofModel,
          ...ofRun,
          'agent_host.module_id': 'llm',
          'agent_host.module': 'llm/mock',
          'gen_ai.response.model': 'mock',
          'gen_ai.usage.input_tokens': 40,
          'gen_ai.usage.output_tokens': 5,
          'gen_ai.response.finish_reasons': ['stop'],
        },
      ],
    ])
    const clock = named(spans, 'execute_tool clock')
    expect([clock.kind, clock.attributes]).to.deep.equal([
      1,
      {
        'gen_ai.operation.name': 'execute_tool',
        ...ofAgent,
        'gen_ai.tool.name': 'clock',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': 'call_1_1',
        ...ofRun,
        'agent_host.module_id': 'tools',
        'agent_host.module': 'two-tools',
        'error.type': 'tool_error',
      },
    ])
    expect(named(spans, '__conversation__.getHistory').attributes).to.deep.equal({
      ...ofRun,
      'agent_host.module_id': '__conversation__',
      'agent_host.module': '__conversation__',
    })
  })

  it('belong to one trace, which has the id of the run', async () => {
    const { spans } = await trace('guide', 'What is the weather?')
    const runId = String(spans[0]?.attributes['agent_host.run_id'])
    expect([...new Set(spans.map(({ traceId }) => traceId))]).to.deep.equal([runId.replaceAll('-', '')])
  })

  it('start and end at the times of the events', async () => {
    const { spans, events } = await trace('guide', 'What is the weather?')
    const [root, handler] = [named(spans, 'invoke_agent guide'), named(spans, 'loop.handleText')]
    const [call, end] = events.filter(({ parent_call_id }) => parent_call_id === null)
    expect([root.startMs, handler.startMs]).to.deep.equal([handler.startMs, root.startMs])
    expect(handler.startMs).to.be.closeTo((call?.time ?? 0) * 1000, 0.01)
    expect(handler.endMs).to.be.closeTo((end?.time ?? 0) * 1000, 0.01)
    expect(handler.endMs - handler.startMs).to.be.closeTo(end?.duration_ms ?? 0, 1)
    for (const { startMs, endMs } of spans) {
      expect(startMs).to.be.within(root.startMs, endMs)
      expect(endMs).to.be.at.most(root.endMs)
    }
  })

  it('report a failure without its secrets', async () => {
    const { spans, collector } = await trace('guide', 'What is the weather?', { CANARY_API_KEY: SECRET })
    const { status, attributes, events } = named(spans, 'execute_tool weather')
    expect(status).to.deep.equal({ code: 2, message: 'no weather with [redacted]' })
    expect(attributes['error.type']).to.equal('TypeError')
    expect(events.map(({ name }) => name)).to.deep.equal(['exception'])
    const { 'exception.stacktrace': stack, ...told } = events[0]?.attributes ?? {}
    expect(told).to.deep.equal({ 'exception.type': 'TypeError', 'exception.message': 'no weather with [redacted]' })
    expect(stack).to.match(/^TypeError: no weather with \[redacted\]\n +at .*two-tools/)
    expect(collector.text()).not.to.contain(SECRET)
  })

  it('mark a failing agent as an error at the root', async () => {
    const { spans, statusCode } = await trace('probe', 'fail now')
    expect(statusCode).to.equal(500)
    expect(named(spans, 'invoke_agent probe').status).to.deep.equal({ code: 2, message: 'secret detail' })
  })

  it('have no errors over the round trip of a client tool and an approval, and name each model', async () => {
    const collector = await startCollector()
    collectors.push(collector)
    setVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
    const replies = '[{ tool_calls: [{ name: NAME, arguments: {} }] }, { text: Done. }]'
    const agent = (id: string, tool: string) => `id: ${id}
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: ${replies.replace('NAME', tool)} } }
  - { id: tools, module: tools/local, config: { files: [tools/refund.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`
    const server = await makeServer(
      { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'] },
      {
        'agents/caller.yml': agent('caller', 'weather'),
        'agents/desk.yml': agent('desk', 'refund'),
        'tools/refund.ts': `import { defineTool, Type } from 'agent-host'
export const refund = defineTool({ description: 'Refunds.', parameters: Type.Object({}), needsApproval: true, execute: () => 'refunded' })`,
      },
    )
    const post = async (url: string, payload: object) =>
      (await server.app.inject({ method: 'POST', url, payload })).json()
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
    const messages: object[] = [{ role: 'user', content: 'Will it rain?' }]
    const asked = await post('/v1/chat/completions', { model: 'caller', messages, tools })
    const { message } = asked.choices[0]
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'rain' })
    const told = await post('/v1/chat/completions', { model: 'caller', messages, tools })
    expect(told.choices[0].message.content).to.equal('Done.')
    await post('/v1/responses', { model: 'desk', input: 'Refund it.' })
    const { data } = (await server.app.inject('/compat/approvals')).json()
    const { continued_by } = await post(`/compat/approvals/${data[0].id}`, { decision: 'approve' })
    await eventually(async () => {
      expect((await server.app.inject(`/v1/responses/${continued_by}`)).json().status).to.equal('completed')
    })
    await server.close()
    const spans = collector.spans()
    expect(spans.filter(({ status }) => status.code === 2)).to.deep.equal([])
    const statuses = spans
      .filter(({ name }) => name.startsWith('invoke_agent'))
      .map(({ name, attributes }) => {
        return `${name}: ${attributes['agent_host.status']}`
      })
    expect(statuses).to.deep.equal([
      'invoke_agent caller: handed_to_client',
      'invoke_agent caller: completed',
      'invoke_agent desk: waiting',
      'invoke_agent desk: completed',
    ])
    const chats = spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat')
    const models = chats.map(({ attributes: { 'gen_ai.request.model': asked, 'gen_ai.response.model': answered } }) => {
      return [asked, answered]
    })
    expect(models).to.deep.equal([1, 2, 3, 4].map(() => ['mock', 'mock']))
    const calls = spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'execute_tool')
    expect(calls.map(({ name, attributes }) => [name, attributes['gen_ai.tool.call.id'] !== undefined])).to.deep.equal([
      ['execute_tool weather', true],
      ['execute_tool refund', true],
      ['execute_tool refund', true],
    ])
  })

  it('have no content of questions, calls or answers', async () => {
    const { collector } = await trace('guide', 'What is the weather?')
    expect(collector.text()).not.to.match(/What is|Limatown|fine over there|stands still/)
  })

  it('of an aborted run end with it', async () => {
    const { collector, server } = await makeTracedServer()
    const abort = new AbortController()
    const run = server.host.run('probe', 'deaf', { signal: abort.signal }).catch(({ code }) => code)
    await eventually(() => expect(server.host.runningCount).to.equal(1))
    await setTimeout(50)
    abort.abort()
    expect(await run).to.equal('RUN_ABORTED')
    await server.close()
    const { status, attributes, endMs, startMs } = named(collector.spans(), 'invoke_agent probe')
    expect(status).to.deep.equal({ code: 2, message: 'the run has ended' })
    expect(attributes['error.type']).to.equal('cancelled')
    expect(endMs - startMs).to.be.at.least(40)
  })

  it('end with the run even if its code continues, and none start afterwards', async () => {
    const { collector, server } = await makeTracedServer()
    await server.host.run('stray', 'go')
    await setTimeout(150)
    await server.close()
    expect(treeOf(collector.spans())).to.have.members([
      'null > invoke_agent stray',
      'invoke_agent stray > main.handleText',
      'main.handleText > execute_tool weather',
    ])
    const { status, attributes } = named(collector.spans(), 'execute_tool weather')
    expect([status, attributes['error.type']]).to.deep.equal([{ code: 2, message: 'the run has ended' }, 'unfinished'])
  })

  it('name the service', async () => {
    const { collector } = await trace('echo', 'hi')
    const { 'service.version': version, 'service.name': name } = collector.resource()
    expect(name).to.equal('agent-host')
    expect(version).to.match(/^\d+\.\d+\.\d+/)
    const { collector: other } = await trace('echo', 'hi', {
      OTEL_SERVICE_NAME: 'desk',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    })
    expect(other.resource()).to.include({ 'service.name': 'desk', 'deployment.environment.name': 'test' })
  })

  it('are off if the standard variables say so', async () => {
    for (const [name, value] of [
      ['OTEL_SDK_DISABLED', 'true'],
      ['OTEL_TRACES_EXPORTER', 'none'],
    ] as const) {
      const { collector } = await trace('echo', 'hi', { [name]: value })
      expect(collector.text()).to.equal('')
      restoreVariables()
    }
  })

  it('go out as protobuf where its exporter is installed, else in the encoding that the environment names', async () => {
    for (const [value, type] of [
      ['', 'application/x-protobuf'],
      ['http/protobuf', 'application/x-protobuf'],
      ['http/json', 'application/json'],
    ] as const) {
      const { collector, server } = await makeTracedServer({ OTEL_EXPORTER_OTLP_PROTOCOL: value })
      await server.host.run('echo', 'hi')
      await server.close()
      expect([...collector.types]).to.deep.equal([type])
      expect(collector.text()).to.include('invoke_agent echo')
    }
    setVariables({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' })
    const refusal = await makeServer().catch((error) => error)
    expect([refusal.code, refusal.message]).to.deep.equal([
      'OPTION_INVALID',
      "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be http/protobuf or http/json, not 'grpc'.",
    ])
  })

  it("are part of the caller's trace, whatever the protocol", async () => {
    const { collector, server } = await makeTracedServer({}, ALL_ADAPTERS)
    const headers = { traceparent: TRACEPARENT, accept: 'application/json, text/event-stream' }
    const call = { name: 'echo', arguments: { message: 'hi' } }
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    for (const [url, payload, more] of [
      [COMPLETIONS, chat('echo', 'hi'), {}],
      ['/v1/responses', { model: 'echo', input: 'hi' }, {}],
      ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }, {}],
      [
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...call, _meta: { traceparent: TRACEPARENT } } },
        { traceparent: '' },
      ],
      [
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...call, _meta: meta } },
        { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
      ],
    ] as const) {
      const { statusCode, body } = await server.app.inject({
        method: 'POST',
        url,
        headers: { ...headers, ...more },
        payload,
      })
      expect(statusCode, body).to.equal(200)
    }
    await server.close()
    const roots = collector.spans().filter(({ name }) => name === 'invoke_agent echo')
    const caller = { traceId: TRACE_ID, parentSpanId: SPAN_ID, links: [] }
    expect(roots.map(({ traceId, parentSpanId, links }) => ({ traceId, parentSpanId, links }))).to.deep.equal(
      Array(5).fill(caller),
    )
  })

  it("of a background run link to the caller's trace", async () => {
    const { collector, server } = await makeTracedServer({}, ALL_ADAPTERS)
    const payload = { model: 'echo', input: 'hi', background: true }
    const queued = await server.app.inject({
      method: 'POST',
      url: '/v1/responses',
      headers: { traceparent: TRACEPARENT },
      payload,
    })
    await eventually(async () => {
      expect((await server.app.inject(`/v1/responses/${queued.json().id}`)).json().status).to.equal('completed')
    })
    await server.close()
    const root = named(collector.spans(), 'invoke_agent echo')
    expect(root).to.deep.include({ parentSpanId: undefined, links: [{ traceId: TRACE_ID, spanId: SPAN_ID }] })
    expect(root.traceId).to.equal(String(root.attributes['agent_host.run_id']).replaceAll('-', ''))
  })

  it('have a trace of their own when the caller names none, or an invalid one', async () => {
    const { collector, server } = await makeTracedServer()
    for (const traceparent of [
      '',
      'tulips',
      TRACEPARENT.replace(SPAN_ID, '0'.repeat(16)),
      `ff${TRACEPARENT.slice(2)}`,
    ]) {
      await server.app.inject({
        method: 'POST',
        url: COMPLETIONS,
        headers: { traceparent },
        payload: chat('echo', 'hi'),
      })
    }
    await server.close()
    const roots = collector.spans().filter(({ name }) => name === 'invoke_agent echo')
    expect(roots.map(({ parentSpanId, links }) => ({ parentSpanId, links }))).to.deep.equal(
      Array(4).fill({ parentSpanId: undefined, links: [] }),
    )
  })

  it('reject an endpoint that is not a URL', async () => {
    setVariables({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'localhost:4318' })
    const refusal = await makeServer().catch((error) => error)
    expect([refusal.code, refusal.message]).to.deep.equal([
      'OPTION_INVALID',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address like http://localhost:4318.',
    ])
  })
})
