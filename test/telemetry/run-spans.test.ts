import * as api from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  RandomIdGenerator,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { expect } from 'chai'
import type { AgentEvent } from '../../src/run/calls/agent-events.ts'
import { parseException } from '../../src/telemetry/parse-exception.ts'
import { reportFailures } from '../../src/telemetry/report-failures.ts'
import { RunSpans } from '../../src/telemetry/run-spans.ts'
import { TraceIds } from '../../src/telemetry/trace-ids.ts'
import { measureCpuTime } from '../support/cpu-time.ts'
import { endOf } from '../support/events.ts'

function makeSpans(maxOpenCalls?: number) {
  const exporter = new InMemorySpanExporter()
  const traceIds = new TraceIds(new RandomIdGenerator())
  const provider = new NodeTracerProvider({
    idGenerator: traceIds,
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  const spans = new RunSpans(
    { api, tracer: provider.getTracer('test'), traceIds, redact: (text) => text },
    maxOpenCalls,
  )
  return { spans, ended: () => exporter.getFinishedSpans() }
}

function makeEvent(call_id: string, more: Partial<AgentEvent> = {}): AgentEvent {
  const event_type = more.event_type ?? 'call'
  return {
    agent_id: 'a',
    event_name: `m.M.work.${event_type}`,
    event_type,
    module_id: 'm',
    module_class: 'M',
    method_name: 'work',
    protocol: null,
    model: null,
    tool_call_id: null,
    time: 1000,
    call_id,
    caller_id: 'agent:a',
    arguments: { args: [] },
    result: null,
    exception: null,
    run_id: 'r',
    tenant: '',
    user: null,
    variant: null,
    conversation: null,
    continues: null,
    origin: null,
    replays: null,
    parent_run_id: null,
    parent_run_call_id: null,
    parent_call_id: null,
    entry_point: '__entry__',
    agent_version: null,
    duration_ms: null,
    ...more,
  }
}

describe('run spans', () => {
  it('puts a child run below the call that began it, in one trace', () => {
    const { spans, ended } = makeSpans()
    spans.add(makeEvent('r.1'))
    const child = { run_id: 'child', parent_run_id: 'r', parent_run_call_id: 'r.1' }
    spans.add(makeEvent('child.1', child))
    spans.add(makeEvent('child.1', { ...child, event_type: 'result' }))
    spans.endRun(endOf('child'))
    spans.add(makeEvent('r.1', { event_type: 'result' }))
    spans.endRun(endOf('r'))
    const [childCall, childRun, call, run] = ended()
    expect(childCall?.parentSpanContext?.spanId).to.equal(childRun?.spanContext().spanId)
    expect(childRun?.parentSpanContext?.spanId).to.equal(call?.spanContext().spanId)
    expect(call?.parentSpanContext?.spanId).to.equal(run?.spanContext().spanId)
    expect(new Set(ended().map((span) => span.spanContext().traceId)).size).to.equal(1)
  })

  it('hold a limited number of open calls: the oldest run is dropped first', () => {
    const { spans, ended } = makeSpans(6)
    for (const run of ['1', '2', '3', '4', '5']) spans.add(makeEvent(run, { run_id: run }))
    const dropped = ended().map(({ attributes, status }) => [attributes['agent_host.run_id'], status.message])
    expect(dropped).to.deep.equal(['1', '1', '2', '2'].map((run) => [run, 'too many calls are open']))
    for (const run of ['1', '2', '3', '4', '5']) spans.add(makeEvent(run, { run_id: run, event_type: 'result' }))
    for (const run of ['1', '2', '3', '4', '5']) spans.endRun(endOf(run))
    expect(ended()).to.have.length(10)
    for (const run of ['6', '7', '8']) spans.add(makeEvent(run, { run_id: run }))
    expect(ended()).to.have.length(10)
  })

  it('hold a limited number within one run, too', () => {
    const { spans, ended } = makeSpans(3)
    spans.add(makeEvent('0'))
    for (let call = 1; call <= 5; call++) spans.add(makeEvent(`${call}`, { parent_call_id: '0', caller_id: 'm' }))
    expect(ended().map(({ name }) => name)).to.deep.equal(['m.work', 'm.work', 'invoke_agent a'])
    spans.add(makeEvent('x', { run_id: 'other' }))
    spans.endAll()
    expect(ended().map(({ name }) => name)).to.deep.equal([
      'm.work',
      'm.work',
      'invoke_agent a',
      'm.work',
      'invoke_agent a',
    ])
  })

  it('a call within an ended one is attached to the run', () => {
    const { spans, ended } = makeSpans()
    spans.add(makeEvent('root'))
    spans.add(makeEvent('tool', { parent_call_id: 'root' }))
    spans.add(makeEvent('tool', { parent_call_id: 'root', event_type: 'result' }))
    spans.add(makeEvent('late', { parent_call_id: 'tool' }))
    spans.endAll()
    const [tool, late, handler, root] = ended()
    expect([tool, late, handler, root].map((span) => span?.name)).to.deep.equal([
      'm.work',
      'm.work',
      'm.work',
      'invoke_agent a',
    ])
    expect(late?.parentSpanContext?.spanId).to.equal(root?.spanContext().spanId)
  })

  it('calls outside of any run are traces of their own', () => {
    const { spans, ended } = makeSpans()
    for (const call of ['1', '2']) {
      spans.add(makeEvent(call, { run_id: null, entry_point: null, caller_id: 'other' }))
      spans.add(makeEvent(call, { run_id: null, event_type: 'result' }))
    }
    expect(ended().map(({ name }) => name)).to.deep.equal(['m.work', 'm.work'])
    expect(new Set(ended().map((span) => span.spanContext().traceId)).size).to.equal(2)
  })

  it('a run whose id is no UUID has one trace as well', () => {
    const { spans, ended } = makeSpans()
    for (const type of ['call', 'result'] as const) spans.add(makeEvent('1', { run_id: 'my run', event_type: type }))
    for (const type of ['call', 'result'] as const) spans.add(makeEvent('2', { run_id: 'my run', event_type: type }))
    spans.endRun(endOf('my run'))
    const ids = ended().map((span) => span.spanContext().traceId)
    expect(ids).to.deep.equal([ids[0], ids[0], ids[0]])
    expect(ids[0]).to.match(/^[\da-f]{32}$/)
  })
})

describe('the span of a run', () => {
  it('names what the run waits for, and is no error', () => {
    const { spans, ended } = makeSpans()
    spans.add(makeEvent('1'))
    const waits_for = [{ kind: 'approval', name: 'pay', call_id: 'c' }]
    spans.add(makeEvent('1', { event_type: 'result', result: { waits_for } }))
    const pending = [{ callId: 'c', kind: 'approval', name: 'pay', arguments: {} }] as const
    spans.endRun(endOf('r', { status: 'waiting', pending }))
    const shown = ended().map(({ status, attributes }) => [status, attributes['agent_host.status']])
    expect(shown).to.deep.equal([
      [{ code: 0 }, 'waiting'],
      [{ code: 0 }, 'waiting'],
    ])
  })

  it('is an error with the reason of the failed call, or of none', () => {
    const { spans, ended } = makeSpans()
    spans.add(makeEvent('1'))
    spans.add(makeEvent('1', { event_type: 'exception', exception: 'TypeError: no' }))
    spans.endRun(endOf('r', { status: 'failed' }))
    spans.add(makeEvent('2', { run_id: 'other' }))
    spans.add(makeEvent('2', { run_id: 'other', event_type: 'result' }))
    spans.endRun(endOf('other', { status: 'failed' }))
    const roots = ended().filter(({ name }) => name === 'invoke_agent a')
    expect(roots.map(({ status, attributes }) => [status, attributes['error.type']])).to.deep.equal([
      [{ code: 2, message: 'no' }, 'TypeError'],
      [{ code: 2 }, '_OTHER'],
    ])
  })

  it('has no late calls of a cancelled run beside it', () => {
    const { spans, ended } = makeSpans()
    spans.add(makeEvent('1'))
    spans.endRun(endOf('r', { status: 'cancelled' }))
    spans.add(makeEvent('2'))
    spans.add(makeEvent('2', { event_type: 'result' }))
    spans.endAll()
    expect(ended().map(({ name }) => name)).to.deep.equal(['m.work', 'invoke_agent a'])
  })

  it('has a span for the model that answers, none for the module that passes its answer on', () => {
    const { spans, ended } = makeSpans()
    const generate = { protocol: 'LLM', method_name: 'generate' }
    spans.add(makeEvent('1', { ...generate, module_id: 'fallback' }))
    const model = { name: 'gpt-4.1', provider: 'openai' }
    spans.add(makeEvent('2', { ...generate, parent_call_id: '1', model }))
    const result = [
      { type: 'usage', usage: { inputTokens: 3 }, model: 'gpt-4.1' },
      // As some servers count.
      ...['7', Number.NaN, -1].map((inputTokens) => ({ type: 'usage', usage: { inputTokens } })),
      { type: 'finish', reason: 'stop', model: 'gpt-4.1-2025-04-14' },
    ]
    spans.add(makeEvent('2', { ...generate, event_type: 'result', model, result }))
    spans.add(makeEvent('1', { ...generate, module_id: 'fallback', event_type: 'result', result }))
    const [chat, wrapper] = ended()
    expect([chat?.name, wrapper?.name]).to.deep.equal(['chat gpt-4.1', 'fallback.generate'])
    expect(chat?.attributes).to.deep.include({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4.1',
      'gen_ai.response.model': 'gpt-4.1-2025-04-14',
      'gen_ai.usage.input_tokens': 3,
    })
    expect(Object.keys(wrapper?.attributes ?? {}).filter((name) => name.startsWith('gen_ai.'))).to.deep.equal([])
  })
})

describe('exceptions in spans', () => {
  const STACK = '\n    at work (m.ts:1:1)'
  const DESCRIBED: readonly (readonly [string, string, string])[] = [
    [`Error: it broke${STACK}`, 'Error', 'it broke'],
    [`TypeError [ERR_ARG]: two\nlines${STACK}`, 'TypeError', 'two\nlines'],
    [`HostError: outer${STACK}\nCaused by: Error: inner${STACK}`, 'HostError', 'outer'],
    [`RangeError${STACK}`, 'RangeError', 'RangeError'],
    ['Weather: none', '_OTHER', 'Weather: none'],
    ['', '_OTHER', ''],
  ]
  for (const [exception, type, message] of DESCRIBED) {
    it(`${JSON.stringify(exception.replaceAll(STACK, ''))} is of the type ${type}`, () => {
      expect(parseException(exception, (text) => text)).to.deep.equal({ type, message, stack: exception })
    })
  }

  it('are truncated after redaction', () => {
    const exception = `Error: ${'x'.repeat(995)}secret`
    const { message } = parseException(exception, (text) => text.replace('secret', '[redacted]'))
    expect(message).to.equal(`${'x'.repeat(995)}[reda`)
  })

  it('take no time for a message of empty lines', () => {
    const spentMs = measureCpuTime()
    expect(parseException(`Error: x${'\n'.repeat(60_000)}!`, (text) => text).type).to.equal('Error')
    expect(spentMs()).below(500)
    expect(parseException(`Error: x\n \n\n    at f (/x.js:1:2)`, (text) => text).message).to.equal('x')
  })
})

describe('failing exports', () => {
  it('are logged once until exports work again', () => {
    const refused = { code: 1, error: new Error('refused') }
    const wrongEncoding = { code: 1, error: Object.assign(new Error('Unsupported Media Type'), { code: 415 }) }
    const outcomes = [refused, refused, { code: 0 }, { code: 0 }, wrongEncoding]
    const told: string[] = []
    const note = (level: string) => (message: string) => void told.push(`${level}: ${message}`)
    const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
    const inner = new InMemorySpanExporter()
    inner.export = (_spans, done) => done(outcomes.shift() ?? { code: 0 })
    const exporter = reportFailures(inner, 'http://collector', log)
    for (let round = 0; round < 5; round++) exporter.export([], () => {})
    expect(told).to.deep.equal([
      'warn: Spans cannot be sent to http://collector: refused. Agents are not affected.',
      'info: Spans are sent to http://collector again.',
      'warn: Spans cannot be sent to http://collector: Unsupported Media Type. It takes another OTEL_EXPORTER_OTLP_PROTOCOL. Agents are not affected.',
    ])
  })
})
