import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { type ReceivedSpan, startCollector } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'
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

async function makeTracedServer(environment: Readonly<Record<string, string>> = {}) {
  const collector = await startCollector()
  collectors.push(collector)
  setVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment })
  return { collector, server: await makeServer({}, AGENTS) }
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
      'invoke_agent guide > tools.listTools',
      'invoke_agent guide > __conversation__.getHistory',
      'invoke_agent guide > chat',
      'invoke_agent guide > execute_tool weather',
      'invoke_agent guide > execute_tool clock',
      'invoke_agent guide > chat',
    ])
    const [weather, clock] = [named(spans, 'execute_tool weather'), named(spans, 'execute_tool clock')]
    expect(clock.startMs).to.be.below(weather.endMs)
  })

  it('carry the attributes of the conventions and of the run', async () => {
    const { spans } = await trace('guide', 'What is the weather?')
    const root = named(spans, 'invoke_agent guide')
    const runId = root.attributes['agent_host.run_id'] as string
    const ofRun = { 'agent_host.run_id': runId, 'agent_host.entry_point': '__entry__' }
    const ofAgent = { 'gen_ai.agent.id': 'guide', 'gen_ai.agent.name': 'guide' }
    expect([root.kind, root.status, root.attributes]).to.deep.equal([
      1,
      { code: 0 },
      {
        'gen_ai.operation.name': 'invoke_agent',
        ...ofAgent,
        ...ofRun,
        'agent_host.module_id': 'loop',
        'agent_host.module': 'orchestrator/tool-loop',
      },
    ])
    const chats = spans.filter(({ name }) => name === 'chat')
    expect(chats.map(({ kind, attributes }) => [kind, attributes])).to.deep.equal([
      [
        3,
        {
          'gen_ai.operation.name': 'chat',
          ...ofAgent,
          ...ofRun,
          'agent_host.module_id': 'llm',
          'agent_host.module': 'llm/mock',
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
          ...ofRun,
          'agent_host.module_id': 'llm',
          'agent_host.module': 'llm/mock',
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
    const root = named(spans, 'invoke_agent guide')
    const [call, end] = events.filter(({ parent_call_id }) => parent_call_id === null)
    expect(root.startMs).to.be.closeTo((call?.time ?? 0) * 1000, 0.01)
    expect(root.endMs).to.be.closeTo((end?.time ?? 0) * 1000, 0.01)
    expect(root.endMs - root.startMs).to.be.closeTo(end?.duration_ms ?? 0, 1)
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
    expect(endMs - startMs).to.be.within(40, 1000)
  })

  it('end with the run even if its code continues, and none start afterwards', async () => {
    const { collector, server } = await makeTracedServer()
    await server.host.run('stray', 'go')
    await setTimeout(150)
    await server.close()
    expect(treeOf(collector.spans())).to.deep.equal([
      'null > invoke_agent stray',
      'invoke_agent stray > execute_tool weather',
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

  it('reject an endpoint that is not a URL', async () => {
    setVariables({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'localhost:4318' })
    const refusal = await makeServer().catch((error) => error)
    expect([refusal.code, refusal.message]).to.deep.equal([
      'OPTION_INVALID',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address like http://localhost:4318.',
    ])
  })
})
