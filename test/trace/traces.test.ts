import {
  appendFile,
  copyFile,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { type AgentEvent, AgentHost, type LLMPart } from 'agent-host'
import { expect } from 'chai'
import Database from 'libsql'
import { silentLog } from '../../src/protocols/log.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { TraceFiles } from '../../src/trace/files/trace-files.ts'
import { TraceReader } from '../../src/trace/trace-reader.ts'
import { Traces, type TracesOptions } from '../../src/trace/traces.ts'
import { echoRun, endOf, eventOf, recordEcho, recordRun } from '../support/events.ts'
import { eventually } from '../support/eventually.ts'
import { fakeLLM } from '../support/fake-llm.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'
import { BROKEN, breakThread, withThreads } from '../support/threads.ts'

const ALL = { filter: {}, first: 100, after: undefined }
const MIB = 1024 * 1024

describe('Traces', () => {
  const open: Traces[] = []
  const openTraces = async (project: TempProject, options: Partial<TracesOptions> = {}) => {
    const dir = project.path('debug')
    const traces = await Traces.open({ dir, maxBytes: MIB, redact: (text) => text, log: silentLog, ...options })
    open.push(traces)
    return traces
  }
  const recordAll = (traces: Traces, events: readonly AgentEvent[]) => {
    for (const event of events) traces.record(event)
  }
  const linesOf = async (project: TempProject, file: string) =>
    (await project.read(`debug/${file}`)).split('\n').filter((line) => line !== '')
  afterEach(async () => {
    for (const traces of open.splice(0)) await traces.close()
  })

  it('writes one line per event, in files only the owner can read', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    const events = [...echoRun('run-1', 'hi'), ...echoRun('run-2', 'ho', 1_700_000_001, 'Other.1')]
    recordAll(traces, events)
    await traces.close()
    const written = [...(await linesOf(project, 'echo.jsonl')), ...(await linesOf(project, 'Other.1.jsonl'))]
    expect(written.map((line) => JSON.parse(line))).deep.equal(events)
    const mode = async (path: string) => ((await stat(project.path(path))).mode & 0o777).toString(8)
    expect(await mode('debug')).equal('700')
    for (const file of await readdir(project.path('debug')))
      expect([file, await mode(`debug/${file}`)]).deep.equal([file, '600'])
    expect(traces.counts()).deep.equal({ written: 8, dropped: 0, problem: null })
  })

  it('finds what another process wrote at each look around, however short ago the last one was', async () => {
    const project = await makeProject()
    await project.write('debug/echo.jsonl', '')
    const reader = new TraceReader(project.path('debug'), MIB)
    for (const runId of ['run-1', 'run-2']) {
      const other = await openTraces(project)
      recordEcho(other, runId, 'from another process')
      await other.close()
      reader.lookAround()
      expect([reader.step(), reader.index.runs.get(runId)?.status]).deep.equal([false, 'completed'])
    }
    reader.close()
  })

  it('indexes what another process asks for, although writes leave no quiet moment', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    const reader = new TraceReader(project.path('debug'), MIB)
    const writing = setInterval(() => recordEcho(traces, crypto.randomUUID(), 'one of many'), 20)
    try {
      recordEcho(traces, 'run-1', 'asked for')
      await eventually(() => expect(reader.index.missingBytes()).above(0))
      reader.index.want()
      await eventually(() => expect(reader.index.isWanted).equal(false))
      expect(reader.index.runs.get('run-1')?.input).equal('asked for')
    } finally {
      clearInterval(writing)
      reader.close()
    }
  })

  it('goes on in a new folder when somebody removes the folder', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    const changed: string[] = []
    const stop = traces.watch((runs) => changed.push(...runs.map(({ run_id }) => run_id)))
    recordEcho(traces, 'run-1', 'before')
    expect((await traces.query('runs', ALL)).runs).lengthOf(1)
    await rm(project.path('debug'), { recursive: true })
    expect((await traces.query('runs', ALL)).runs).deep.equal([])
    recordEcho(traces, 'run-2', 'after')
    const { runs } = await traces.query('runs', ALL)
    expect(runs.map(({ run_id, input }) => [run_id, input])).deep.equal([['run-2', 'after']])
    expect(await linesOf(project, 'echo.jsonl')).lengthOf(5)
    expect(((await stat(project.path('debug'))).mode & 0o777).toString(8)).equal('700')
    await eventually(() => expect(changed).contain('run-2'))
    stop()
    expect(traces.counts().dropped).equal(0)
  })

  it('returns earlier runs, newest first', async () => {
    const traces = await openTraces(await makeProject())
    recordEcho(traces, 'run-1', 'first')
    recordEcho(traces, 'run-2', 'second', 1_700_000_010)
    const { runs, next } = await traces.query('runs', ALL)
    expect(next).equal(undefined)
    expect(runs.map(({ run_id }) => run_id)).deep.equal(['run-2', 'run-1'])
    expect(runs[1]).deep.equal({
      run_id: 'run-1',
      agent_id: 'echo',
      tenant: '',
      user: null,
      entry_point: '__entry__',
      server: '',
      agent_version: null,
      status: 'completed',
      incomplete: null,
      variant: null,
      conversation: null,
      continues: null,
      continued_by: null,
      replays: null,
      replays_from: null,
      eval_case: null,
      parent_run_id: null,
      parent_run_call_id: null,
      children: 0,
      tools: [],
      started_at: 1_700_000_000,
      duration_ms: 500,
      expires_at: null,
      first_text_ms: 250,
      calls: 1,
      results: 2,
      errors: 0,
      events: 5,
      input: 'first',
      output: 'first',
      error: null,
      input_tokens: 0,
      output_tokens: 0,
      models: [],
    })
  })

  it('shows a run while it runs, and its outcome', async () => {
    const traces = await openTraces(await makeProject())
    const [call, ...rest] = echoRun('run-1', 'hi') as [AgentEvent, ...AgentEvent[]]
    traces.record(call)
    expect((await traces.query('run', 'run-1'))?.status).equal('running')
    const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0, reasoningTokens: 0 }
    traces.recordEnd(endOf('run-1', { durationMs: 80, usage, status: 'cancelled' }))
    const cancelled = await traces.query('run', 'run-1')
    expect([cancelled?.status, cancelled?.duration_ms, cancelled?.input_tokens]).deep.equal(['cancelled', 80, 7])
    // An agent that was deaf to its signal returns later: that changes nothing.
    recordAll(traces, rest)
    expect((await traces.query('run', 'run-1'))?.status).equal('cancelled')
    expect((await traces.query('run', 'run-1'))?.events).equal(5)
  })

  it('spans approved tools, handler and guards of a run, and shows the question of the handler', async () => {
    const traces = await openTraces(await makeProject())
    const call = (method_name: string, from: number, to: number, args: unknown[]): AgentEvent[] => {
      const own = { call_id: `run-1.${from}`, method_name }
      const time = (seconds: number) => 1_700_000_000 + seconds
      return [
        eventOf({ ...own, event_type: 'call', time: time(from), arguments: { args } }),
        eventOf({ ...own, event_type: 'result', time: time(to), duration_ms: (to - from) * 1000 }),
      ]
    }
    recordAll(traces, call('executeTool', 0, 1, ['refund']))
    recordAll(traces, call('handleText', 1, 2, ['Refund it.']))
    const [check, end] = call('checkOutput', 2, 4, ['Refunded.']) as [AgentEvent, AgentEvent]
    traces.record(check)
    const shown = async () => {
      const run = await traces.query('run', 'run-1')
      return [run?.status, run?.duration_ms, run?.input]
    }
    expect(await shown()).deep.equal(['running', null, 'Refund it.'])
    traces.record(end)
    traces.recordEnd(endOf('run-1', { durationMs: 4000 }))
    expect(await shown()).deep.equal(['completed', 4000, 'Refund it.'])
  })

  it('keeps the events of overlapping runs apart, and pages through them', async () => {
    const traces = await openTraces(await makeProject())
    const one = echoRun('run-1', 'a')
    const two = echoRun('run-2', 'b')
    for (const [index, event] of one.entries()) recordAll(traces, [event, two[index] as AgentEvent])
    const read = async (more: object) => {
      const query = { runId: 'run-1', after: -1, first: 10, ...more }
      const { events, hasMore } = await traces.query('events', query)
      return {
        hasMore,
        events: events.map(({ index, line }) => [index, JSON.parse(line).event_name, JSON.parse(line).run_id]),
      }
    }
    const names = one.map(({ event_name }, index) => [index, event_name, 'run-1'])
    expect(await read({})).deep.equal({ events: names, hasMore: false })
    expect(await read({ first: 2 })).deep.equal({ events: names.slice(0, 2), hasMore: true })
    expect(await read({ first: 2, after: 1 })).deep.equal({ events: names.slice(2), hasMore: false })
    expect(await read({ callId: 'run-1.2' })).deep.equal({ events: names.slice(1, 3), hasMore: false })
    expect(await read({ moduleId: 'main', eventType: 'result' })).deep.equal({ events: [names[3]], hasMore: false })
    expect(await read({ runId: 'unknown' })).deep.equal({ events: [], hasMore: false })
  })

  it('finds runs by agent, status, time, duration, step and text', async () => {
    const traces = await openTraces(await makeProject())
    recordEcho(traces, 'run-1', 'apples 100%')
    recordEcho(traces, 'run-2', 'pears', 1_700_000_100, 'other')
    const failed = { run_id: 'run-3', call_id: 'run-3.1', method_name: 'think', module_id: 'planner' }
    traces.record(eventOf({ ...failed, event_type: 'call', time: 1_700_000_200 }))
    const exception = 'Error: no luck\n    at somewhere'
    traces.record(eventOf({ ...failed, event_type: 'exception', exception, duration_ms: 20, time: 1_700_000_201 }))
    traces.recordEnd(endOf('run-3', { startedAt: 1_700_000_200, durationMs: 20, status: 'failed' }))
    const find = async (filter: object) =>
      (await traces.query('runs', { ...ALL, filter })).runs.map(({ run_id }) => run_id)
    expect(await find({ agentId: 'other' })).deep.equal(['run-2'])
    expect(await find({ status: 'failed' })).deep.equal(['run-3'])
    expect(await find({ since: 1_700_000_100, until: 1_700_000_200 })).deep.equal(['run-2'])
    expect(await find({ minDurationMs: 100 })).deep.equal(['run-2', 'run-1'])
    expect(await find({ maxDurationMs: 100 })).deep.equal(['run-3'])
    expect(await find({ eventType: 'call' })).deep.equal(['run-3', 'run-2', 'run-1'])
    expect(await find({ eventType: 'result' })).deep.equal(['run-2', 'run-1'])
    expect(await find({ eventType: 'exception' })).deep.equal(['run-3'])
    expect(await find({ moduleId: 'planner' })).deep.equal(['run-3'])
    expect(await find({ moduleId: 'plan' })).deep.equal([])
    expect(await find({ methodName: 'respondText' })).deep.equal(['run-2', 'run-1'])
    expect(await find({ text: '100%' })).deep.equal(['run-1'])
    expect(await find({ text: 'LUCK' })).deep.equal(['run-3'])
    expect(await find({ text: '_' })).deep.equal([])
    const page = await traces.query('runs', { filter: {}, first: 2, after: undefined })
    expect(page.next).deep.equal({ value: page.runs[1]?.started_at, runId: page.runs[1]?.run_id })
    const rest = await traces.query('runs', { filter: {}, first: 2, after: page.next })
    expect(rest.runs.map(({ run_id }) => run_id)).deep.equal(['run-1'])
    const sorted = async (query: object) =>
      (await traces.query('runs', { ...ALL, ...query })).runs.map(({ run_id }) => run_id)
    expect(await sorted({ sort: 'duration_ms', isAscending: true })).deep.equal(['run-3', 'run-1', 'run-2'])
    expect(await sorted({ sort: 'agent_id' })).deep.equal(['run-2', 'run-3', 'run-1'])
    const slowest = await traces.query('runs', { ...ALL, first: 1, sort: 'duration_ms' })
    expect(await sorted({ first: 1, sort: 'duration_ms', after: slowest.next })).deep.equal(['run-1'])
    expect(await traces.query('neighbours', 'run-1')).deep.equal({ previous: undefined, next: 'run-3' })
    expect(await traces.query('neighbours', 'run-2')).deep.equal({ previous: undefined, next: undefined })
    expect(await traces.query('count', { agentId: 'echo' })).equal(2)
    traces.record(eventOf({ event_type: 'call', run_id: 'run-4', call_id: 'run-4.1', time: 1_700_000_300 }))
    expect(await find({ eventType: 'end' })).deep.equal(['run-3', 'run-2', 'run-1'])
  })

  it('counts the runs below a run, and gives their events among its own, by their time', async () => {
    const traces = await openTraces(await makeProject())
    const model = (runId: string, agentId: string, time: number, tokens: number) => {
      const usage = [{ type: 'usage', model: 'm', usage: { inputTokens: tokens, outputTokens: 0 } }]
      const own = { agent_id: agentId, run_id: runId, module_id: 'llm', method_name: 'generate', caller_id: 'main' }
      const call = { ...own, call_id: `${runId}.9`, parent_call_id: `${runId}.1` }
      return [
        eventOf({ ...call, event_type: 'call', time }),
        eventOf({ ...call, event_type: 'result', time: time + 0.01, result: usage }),
      ]
    }
    const record = (runId: string, time: number, agentId: string, total: number, parent?: string) => {
      const [call, respond, responded, end] = echoRun(runId, 'go', time, agentId) as [AgentEvent, ...AgentEvent[]]
      const origin = parent ? { parent_run_id: parent, parent_run_call_id: `${parent}.2` } : {}
      const usage = { inputTokens: total, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }
      const events = [{ ...call, ...origin }, ...model(runId, agentId, time + 0.26, 10), respond, responded, end]
      recordRun(traces, events as AgentEvent[], { usage })
    }
    record('c', 1_700_000_000.3, 'clerk', 10, 'b')
    record('b', 1_700_000_000.2, 'billing', 20, 'a')
    record('a', 1_700_000_000, 'desk', 30)
    record('lost', 1_700_000_001, 'desk', 10, 'rotated')
    const desk = await traces.query('run', 'a')
    expect([desk?.children, desk?.input_tokens, desk?.models[0]?.input_tokens]).deep.equal([1, 30, 30])
    const below = await traces.query('below', 'a')
    expect(
      below.map(({ run_id, parent_run_id, parent_run_call_id }) => [run_id, parent_run_id, parent_run_call_id]),
    ).deep.equal([
      ['b', 'a', 'a.2'],
      ['c', 'b', 'b.2'],
    ])
    const top = await traces.query('runs', { ...ALL, filter: { isTopLevel: true } })
    expect(top.runs.map(({ run_id }) => run_id)).deep.equal(['lost', 'a'])
    expect(await traces.query('count', { isTopLevel: true })).equal(2)
    const callsFrom = async (after: number, below: Record<string, number>, first: number) => {
      const { events, hasMore } = await traces.query('events', { runId: 'a', after, below, first, eventType: 'call' })
      return [events.map(({ line }) => JSON.parse(line).call_id), hasMore, events.at(-1)?.below]
    }
    const inOrder = ['a.1', 'b.1', 'a.9', 'a.2', 'c.1', 'b.9', 'b.2', 'c.9', 'c.2']
    expect(await callsFrom(-1, {}, 100)).deep.equal([inOrder, false, 'c'])
    expect(await callsFrom(-1, {}, 2)).deep.equal([inOrder.slice(0, 2), true, 'b'])
    expect(await callsFrom(1, { b: 0 }, 100)).deep.equal([['a.2', 'c.1', 'b.9', 'b.2', 'c.9', 'c.2'], false, 'c'])
    const { total, agents } = await traces.query('metrics', {
      since: 1_699_999_999,
      until: 1_700_000_002,
      bucketSeconds: 1,
    })
    expect([total.input_tokens, total.models[0]?.input_tokens]).deep.equal([40, 40])
    expect(agents.map(({ agent_id, input_tokens }) => [agent_id, input_tokens])).deep.members([
      ['desk', 20],
      ['billing', 10],
      ['clerk', 10],
    ])
  })

  it('lists runs that are below themselves beside others', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    for (const [runId, parent] of Object.entries({
      self: 'self',
      one: 'two',
      two: 'one',
      leaf: 'one',
      good: undefined,
    })) {
      const [call, ...others] = echoRun(runId, 'go') as [AgentEvent, ...AgentEvent[]]
      const origin = parent ? { parent_run_id: parent, parent_run_call_id: `${parent}.1` } : {}
      recordRun(traces, [{ ...call, ...origin }, ...others])
    }
    await traces.close()
    // In the process of the test, which its time limit ends: a thread that does not end keeps it.
    const reader = new TraceReader(project.path('debug'), MIB)
    const { runs } = reader.index
    const idsOf = (found: readonly { run_id: string }[]) => found.map(({ run_id }) => run_id).sort()
    expect(idsOf(runs.list(ALL).runs)).deep.equal(['good', 'leaf', 'one', 'self', 'two'])
    expect(['self', 'two', 'good'].map((id) => runs.get(id)?.children)).deep.equal([1, 1, 0])
    expect(['self', 'one', 'two', 'good'].map((id) => idsOf(runs.below(id)))).deep.equal([
      [],
      ['leaf', 'two'],
      ['leaf', 'one'],
      [],
    ])
    expect(reader.events({ runId: 'self', after: -1, below: {}, first: 100 }).events).lengthOf(5)
    reader.close()
  })

  it('returns the latest events of an agent, oldest first', async () => {
    // Within half of the limit: none makes room for others.
    const traces = await openTraces(await makeProject(), { maxBytes: 16 * MIB })
    for (let run = 0; run < 300; run++) recordEcho(traces, `run-${run}`, 'x'.repeat(500), 1_700_000_000 + run)
    const read = async (query: object) => {
      const { lines, hasMore } = await traces.query('log', { agentId: 'echo', limit: 3, ...query })
      return [hasMore, ...lines.map((line) => JSON.parse(line).call_id)]
    }
    expect(await read({})).deep.equal([true, 'run-299.2', 'run-299.1', 'run-299'])
    expect(await read({ eventType: 'call', moduleId: 'main' })).deep.equal([
      true,
      'run-297.1',
      'run-298.1',
      'run-299.1',
    ])
    expect(await read({ eventType: 'exception' })).deep.equal([false])
    expect(await read({ eventType: 'end', limit: 1 })).deep.equal([true, 'run-299'])
    expect((await read({ limit: 5000 })).length).equal(1501)
    expect(await read({ agentId: '../../etc/passwd' })).deep.equal([false])
  })

  it('skips lines of its shape that something else has written', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    const line = { agent_id: 'echo', call_id: 'c', time: 1_700_000_000, run_id: 'odd' }
    const odd = ['result', 'call', 'exception'].map((type) => JSON.stringify({ ...line, event_type: type }))
    await appendFile(project.path('debug/echo.jsonl'), odd.map((text) => `${text}\n`).join(''))
    recordEcho(traces, 'run-1', 'hi')
    await traces.query('count', {})
    const [begin] = echoRun('run-1', 'long before').map((event) => JSON.stringify({ ...event, time: 'time' }))
    await appendFile(project.path('debug/echo.jsonl'), `${begin?.replace('"time":"time"', '"time":-1e999')}\n`)
    traces.recordEnd(endOf('run-1', { text: 'after' }))
    expect((await traces.query('run', 'run-1'))?.output).equal('after')
    expect((await traces.query('runs', ALL)).runs.map(({ run_id }) => run_id)).deep.equal(['run-1'])
  })

  it('lists and forgets a run whose user has a name of any length', async () => {
    const project = await makeProject()
    const traces = await openTraces(project, { maxBytes: 16 * MIB })
    recordRun(traces, [{ ...(echoRun('run-1', 'hi')[0] as AgentEvent), user: 'ada'.repeat(MIB) }])
    const { runs } = await traces.query('runs', ALL)
    expect(runs.map(({ user, status }) => [user, status])).deep.equal([[`${'ada'.repeat(100)}…`, 'completed']])
    expect(await traces.query('forget', { tenant: '', user: '', runIds: ['run-1'] })).equal(1)
    expect(await project.read('debug/echo.jsonl')).not.contain('ada')
  })

  for (const inputTokens of [Number.POSITIVE_INFINITY, Number.MAX_VALUE])
    it(`lists a run whose model has counted tokens without end: ${inputTokens}`, async () => {
      const traces = await openTraces(await makeProject())
      const model = { call_id: 'llm', parent_call_id: 'run-1.1', method_name: 'generate' }
      const asked = eventOf({ ...model, event_type: 'call' })
      const counted = { type: 'usage', usage: { inputTokens, outputTokens: 1 } }
      const result = [counted, counted]
      recordRun(traces, [
        echoRun('run-1', 'hi')[0] as AgentEvent,
        asked,
        eventOf({ ...model, event_type: 'result', result }),
      ])
      const { runs } = await traces.query('runs', ALL)
      expect(runs.map(({ status, output_tokens }) => [status, output_tokens])).deep.equal([['completed', 2]])
    })

  it('has no numbers of a module, and no run with a text, that cannot be', async () => {
    const traces = await openTraces(await makeProject())
    recordEcho(traces, 'run-1', 'hi')
    const query = { since: 0, until: 2e9, bucketSeconds: 2e9 }
    for (const moduleId of ['constructor', '__proto__', 'absent'])
      expect((await traces.query('metrics', { ...query, moduleId })).total.count).equal(0)
    for (const text of ['x'.repeat(MIB), '%'.repeat(40_000)]) expect(await traces.query('count', { text })).equal(0)
  })

  it('forgets a run whose user has a name with NUL, and one whose beginning was lost with the name of its user', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    for (const [runId, user] of [
      ['run-1', 'ada\0x'],
      ['run-2', 'bob'],
    ] as const) {
      const [begin, ...others] = echoRun(runId, `canary of ${runId}`) as [AgentEvent, ...AgentEvent[]]
      recordRun(traces, [{ ...begin, user }, ...others])
    }
    recordRun(traces, echoRun('run-3', 'canary of run-3').slice(1))
    expect(await traces.query('forget', { tenant: 'acme', user: 'ada\0x', runIds: [] })).equal(0)
    expect(await traces.query('forget', { tenant: '', user: 'ada\0x', runIds: [] })).equal(2)
    expect((await project.read('debug/echo.jsonl')).match(/canary of run-\d/g)).deep.equal(
      Array.from({ length: 2 }, () => 'canary of run-2'),
    )
  })

  it('reads a file that was renamed, and one whose copy was removed, as it was before', async () => {
    const project = await makeProject()
    const [file, other] = [project.path('debug/echo.jsonl'), project.path('debug/other.jsonl')]
    await project.write(
      'debug/echo.jsonl',
      echoRun('run-1', 'hi')
        .map((event) => `${JSON.stringify(event)}\n`)
        .join(''),
    )
    const reader = new TraceReader(project.path('debug'), MIB)
    const read = () => {
      reader.lookAround()
      reader.catchUp()
      return reader.index.runs.list(ALL).runs.map(({ run_id, events, calls }) => [run_id, events, calls])
    }
    expect(read()).deep.equal([['run-1', 4, 1]])
    await rename(file, other)
    expect(read()).deep.equal([['run-1', 4, 1]])
    await copyFile(other, file)
    read()
    await rm(file)
    expect(read()).deep.equal([['run-1', 4, 1]])
    await copyFile(other, project.path('debug/zoo.jsonl'))
    read()
    await rm(project.path('debug/zoo.jsonl'))
    expect(read()).deep.equal([['run-1', 4, 1]])
    reader.close()
  })

  it('keeps the index although something has written into the file of its lock', async () => {
    const project = await makeProject({ 'debug/index.lock': 'this is no database '.repeat(100) })
    const traces = await openTraces(project)
    recordEcho(traces, 'run-1', 'hi')
    await eventually(async () => expect((await traces.query('run', 'run-1'))?.status).equal('completed'))
  })

  it('has a file for a tenant with half a surrogate pair in its name', async () => {
    const traces = await openTraces(await makeProject())
    traces.record({ ...(echoRun('run-1', 'hi')[0] as AgentEvent), tenant: 'a\ud800' })
    expect((await traces.query('run', 'run-1'))?.tenant).equal('a\ufffd')
  })

  it('warns once a file of lines that are too long for the index, and lists the runs around them', async () => {
    const warnings: string[] = []
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
    const project = await makeProject()
    const traces = await openTraces(project, { maxBytes: 32 * MIB, log })
    const path = project.path('debug/echo.jsonl')
    for (const run of ['run-1', 'run-2', 'run-3']) {
      recordEcho(traces, run, 'hi')
      expect(await traces.query('count', {})).equal(Number(run.at(-1)))
      await appendFile(path, `${JSON.stringify({ ...echoRun(run, 'x'.repeat(5 * MIB))[0], call_id: 'long' })}\n`)
    }
    await traces.close()
    expect(warnings).deep.equal([`${path} has lines of more than 2 MiB: runs are shown without them.`])
  })

  it('closes the files of a log that it reads in part', async function () {
    if (process.platform !== 'linux') this.skip()
    const project = await makeProject()
    const traces = await openTraces(project)
    for (let run = 0; run < 5; run++) recordEcho(traces, `run-${run}`, 'hi', 1_700_000_000 + run)
    const countOpen = async () => {
      const links = (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''))
      return (await Promise.all(links)).filter((file) => file === project.path('debug/echo.jsonl')).length
    }
    const read = () => traces.query('log', { agentId: 'echo', tenant: '', limit: 1 })
    await read()
    const before = await countOpen()
    for (let times = 0; times < 3; times++) expect((await read()).hasMore).equal(true)
    expect(await countOpen()).equal(before)
  })

  it('keeps the runs of each tenant apart, in files, index and numbers', async () => {
    const project = await makeProject()
    const traces = await openTraces(project)
    const tenants = ['', 'acme', 'Acme']
    const all = tenants.flatMap((tenant, index) => [0, 1].map((n) => ({ tenant, id: `run-${n}-${index}`, n, index })))
    for (const { tenant, id, n, index } of all.sort((one, other) => one.n - other.n)) {
      const time = 1_700_000_000 + n * 10 + index
      recordAll(
        traces,
        echoRun(id, `says ${tenant}`, time).map((event) => ({ ...event, tenant })),
      )
      traces.recordEnd(endOf(id, { tenant, startedAt: time }))
    }
    expect(await traces.query('count', {})).equal(6)
    const files = (await readdir(project.path('debug'))).filter((file) => file.endsWith('.jsonl'))
    expect(files.sort()).deep.equal(['echo.jsonl', 'echo@%41cme.jsonl', 'echo@acme.jsonl'])
    const callsOf = async (query: object) => {
      const { lines, hasMore } = await traces.query('log', { agentId: 'echo', limit: 100, eventType: 'end', ...query })
      return [hasMore, ...lines.map((line) => JSON.parse(line).call_id)]
    }
    for (const [index, tenant] of tenants.entries()) {
      const [first, second] = [`run-0-${index}`, `run-1-${index}`]
      const { runs } = await traces.query('runs', { ...ALL, filter: { tenant } })
      expect(runs.map((run) => [run.run_id, run.tenant, run.input])).deep.equal([
        [second, tenant, `says ${tenant}`],
        [first, tenant, `says ${tenant}`],
      ])
      expect(await traces.query('count', { tenant })).equal(2)
      const range = { since: 0, until: 2_000_000_000, bucketSeconds: 2_000_000_000 }
      expect((await traces.query('metrics', { ...range, tenant })).total.count).equal(2)
      expect((await traces.query('latestWith', { agentId: 'echo', tenant, step: 'main.handleText' }))?.run_id).equal(
        second,
      )
      expect(await traces.query('neighbours', second)).deep.equal({ previous: first, next: undefined })
      expect(await callsOf({ tenant })).deep.equal([false, first, second])
    }
    const inOrder = ['run-0-0', 'run-0-1', 'run-0-2', 'run-1-0', 'run-1-1', 'run-1-2']
    expect(await callsOf({})).deep.equal([false, ...inOrder])
    expect(await callsOf({ limit: 4 })).deep.equal([true, ...inOrder.slice(2)])
    expect(await callsOf({ agentId: 'echo@acme', tenant: '' })).deep.equal([false])
    await traces.query('clear', { agentId: 'echo', tenant: 'acme' })
    expect(await callsOf({})).deep.equal([false, ...inOrder.filter((id) => !id.endsWith('-1'))])
    await traces.close()
    await project.remove('debug/index.db')
    const again = await openTraces(project)
    expect(await again.query('count', { tenant: 'Acme' })).equal(2)
    expect(await again.query('count', { tenant: 'acme' })).equal(0)
  })

  it('rebuilds the index from the files', async () => {
    const project = await makeProject()
    const first = await openTraces(project)
    recordEcho(first, 'run-1', 'kept')
    await first.close()
    await project.remove('debug/index.db')
    const second = await openTraces(project)
    expect((await second.query('run', 'run-1'))?.output).equal('kept')
    await second.close()
    await writeFile(
      project.path('debug/index.db'),
      'this is no database, and longer than a header of one would be '.repeat(20),
    )
    const third = await openTraces(project)
    expect((await third.query('run', 'run-1'))?.output).equal('kept')
  })

  for (const moment of ['before it is opened', 'while it is open'] as const) {
    it(`makes an index anew from the files that is damaged ${moment}`, async () => {
      const project = await makeProject()
      let traces = await openTraces(project)
      for (let i = 0; i < 50; i++) recordEcho(traces, `run-${i}`, 'said')
      expect((await traces.query('runs', ALL)).runs).lengthOf(50)
      if (moment === 'before it is opened') await traces.close()
      const path = project.path('debug/index.db')
      // Has other connections read the file again.
      const other = new Database(path)
      other.exec('CREATE TABLE other (one)')
      other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      other.close()
      await writeFile(path, (await readFile(path)).fill(7, 4096))
      if (moment === 'before it is opened') traces = await openTraces(project)
      await eventually(async () => expect((await traces.query('runs', ALL)).runs).lengthOf(50))
    })
  }

  it('survives a truncated last line, and marks its run interrupted', async () => {
    const project = await makeProject()
    const first = await openTraces(project)
    const [call] = echoRun('run-1', 'cut off') as [AgentEvent]
    first.record(call)
    await first.close()
    await appendFile(project.path('debug/echo.jsonl'), '{"agent_id":"echo","event_na')
    const second = await openTraces(project)
    expect((await second.query('run', 'run-1'))?.status).equal('interrupted')
    recordEcho(second, 'run-2', 'after')
    expect((await second.query('run', 'run-2'))?.status).equal('completed')
    const { events } = await second.query('events', { runId: 'run-2', after: -1, first: 10 })
    expect(events.slice(0, 4).map(({ line }) => JSON.parse(line))).deep.equal(echoRun('run-2', 'after'))
  })

  it('lets two processes write to one folder, and shows the runs of both', async () => {
    const project = await makeProject()
    const one = await openTraces(project)
    const two = await openTraces(project)
    for (let run = 0; run < 200; run++) {
      recordEcho(one, `one-${run}`, `one says ${run}`)
      recordEcho(two, `two-${run}`, `two says ${run}`)
      if (run % 20 === 0) await new Promise((resume) => setTimeout(resume, 5))
    }
    for (const traces of [one, two]) {
      await eventually(async () => expect(await traces.query('count', {})).equal(400))
      for (const run of ['one-7', 'two-150']) {
        const [who, number] = run.split('-')
        const { events } = await traces.query('events', { runId: run, after: -1, first: 10 })
        expect(events.slice(0, 4).map(({ line }) => JSON.parse(line))).deep.equal(echoRun(run, `${who} says ${number}`))
      }
    }
    for (const traces of [one, two]) expect(await traces.query('missingBytes', undefined)).equal(0)
    // The one that keeps the index goes: the other takes over.
    await one.close()
    recordEcho(two, 'two-last', 'alone')
    await eventually(async () => expect((await two.query('run', 'two-last'))?.status).equal('completed'))
  })

  it('deletes the oldest traces when an agent exceeds its limit', async () => {
    const project = await makeProject()
    const traces = await openTraces(project, { maxBytes: MIB })
    for (let run = 0; run < 1000; run++) {
      recordEcho(traces, `run-${run}`, 'x'.repeat(1000), 1_700_000_000 + run)
      if (run % 100 === 99) await traces.query('count', {})
    }
    const sizeOf = (file: string) =>
      stat(project.path(`debug/${file}`)).then(
        ({ size }) => size,
        () => 0,
      )
    const sizes = await Promise.all(['echo.jsonl', 'echo.jsonl.1'].map(sizeOf))
    expect(sizes.reduce((sum, size) => sum + size)).lessThan(1.5 * MIB)
    const count = await traces.query('count', {})
    expect(count).greaterThan(50).lessThan(700)
    const { runs } = await traces.query('runs', { ...ALL, first: 500 })
    expect(runs[0]?.run_id).equal('run-999')
    for (const { run_id } of [runs[0], runs.at(-1)].flatMap((run) => run ?? [])) {
      const { events } = await traces.query('events', { runId: run_id, after: -1, first: 10 })
      for (const { line } of events) expect(JSON.parse(line).run_id).equal(run_id)
    }
    expect((await traces.query('log', { agentId: 'echo', limit: 4 })).lines).lengthOf(4)
  })

  it('reads of a file that exceeds the limit of its agent only what fits', async () => {
    const project = await makeProject()
    await project.write('debug/echo.jsonl', '')
    await truncate(project.path('debug/echo.jsonl'), 100 * 1024 * MIB)
    await appendFile(project.path('debug/echo.jsonl'), '\n')
    const traces = await openTraces(project)
    expect(await traces.query('missingBytes', undefined)).equal(0)
    recordEcho(traces, 'run-1', 'after')
    await eventually(async () => expect((await traces.query('run', 'run-1'))?.status).equal('completed'))
  })

  it('leaves it to the process that writes to move a file aside', async () => {
    const project = await makeProject()
    await project.write(
      'debug/echo.jsonl',
      `${JSON.stringify(eventOf({ event_type: 'call', call_id: 'call-1', run_id: 'run-1' }))}\n`.repeat(3000),
    )
    const reader = new TraceReader(project.path('debug'), MIB, false)
    while (reader.step());
    expect(reader.index.missingBytes()).equal(0)
    reader.close()
    expect(reader.files.list().map(({ name }) => name)).deep.equal(['echo.jsonl'])
  })

  it('counts dropped events, warns once, and continues', async () => {
    const warnings: string[] = []
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
    const traces = await openTraces(await makeProject(), { maxBytes: 1024 * MIB, log })
    const [call] = echoRun('run-1', 'x'.repeat(9_900)) as [AgentEvent]
    // 90 MB in one turn of the event loop: more than may wait.
    for (let count = 0; count < 9_000; count++) traces.record(call)
    const { dropped } = traces.counts()
    expect(dropped).greaterThan(1000).lessThan(6000)
    expect(warnings).lengthOf(1)
    expect(warnings[0]).match(/events were lost .*faster than they can be written/)
    await traces.query('count', {})
    recordEcho(traces, 'run-2', 'again')
    await eventually(async () => expect((await traces.query('run', 'run-2'))?.status).equal('completed'))
    expect(traces.counts().written + dropped).equal(9_005)
  })

  it('goes on with another thread when its own ends: what was under way is counted and told, watchers hear what follows', async () => {
    await withThreads(async (threads) => {
      const warnings: string[] = []
      const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
      const project = await makeProject()
      const traces = await openTraces(project, { log })
      const heard: string[] = []
      traces.watch((runs) => heard.push(...runs.map(({ run_id }) => run_id)))
      recordEcho(traces, 'run-1', 'before')
      expect((await traces.query('run', 'run-1'))?.status).equal('completed')
      void breakThread(threads.at(-1))
      const failures = ['run-2', 'run-3'].map((id) => {
        recordEcho(traces, id, 'under way')
        return traces.query('run', id).catch((error) => error)
      })
      for (const failure of await Promise.all(failures))
        expect(failure).include({ code: 'STORE_UNAVAILABLE', message: `The traces cannot be read: ${BROKEN}` })
      recordEcho(traces, 'run-4', 'after')
      const { runs } = await traces.query('runs', ALL)
      expect(runs.map(({ run_id }) => run_id)).members(['run-1', 'run-4'])
      await eventually(() => expect(heard).contain('run-4'))
      expect(traces.counts()).deep.equal({ written: 10, dropped: 10, problem: null })
      expect(warnings).deep.equal([
        `The thread of the traces ended, and another one is started: ${BROKEN}`,
        `Traces: 10 events were lost (10 in all): ${BROKEN}.`,
      ])
    })
  })

  it('pauses before the next thread when several ended at once, says why it answers nothing, and loses no count', async () => {
    await withThreads(async (threads) => {
      const traces = await openTraces(await makeProject())
      for (let times = 1; times <= 2; times++) {
        await traces.query('count', {})
        await breakThread(threads.at(-1))
      }
      const failure = await traces.query('count', {}).catch((error) => error)
      expect(failure.message).equal(`The traces cannot be read: the thread of the traces ended: ${BROKEN}`)
      recordEcho(traces, 'run-1', 'too early')
      expect(traces.counts().dropped).equal(4)
      await eventually(async () => expect(await traces.query('count', {})).equal(0))
      recordEcho(traces, 'run-2', 'after')
      expect((await traces.query('run', 'run-2'))?.status).equal('completed')
    })
  })

  it('notifies watchers of changed runs, even of another process', async () => {
    const project = await makeProject()
    const one = await openTraces(project)
    const two = await openTraces(project)
    const heard: string[] = []
    const stop = two.watch((runs) => heard.push(...runs.map(({ run_id, status }) => `${run_id} ${status}`)))
    await two.query('count', {})
    recordEcho(one, 'run-1', 'x')
    await eventually(() => expect(heard).deep.equal(['run-1 completed']))
    stop()
    recordEcho(one, 'run-2', 'x')
    await two.query('count', {})
    expect(heard).deep.equal(['run-1 completed'])
  })

  it('notifies watchers after other runs were deleted', async () => {
    const traces = await openTraces(await makeProject())
    const heard: string[] = []
    recordEcho(traces, 'run-1', 'x')
    recordEcho(traces, 'run-2', 'x')
    await traces.query('count', {})
    traces.watch((runs) => heard.push(...runs.map(({ run_id }) => run_id)))
    await traces.query('clear', { agentId: 'echo', tenant: undefined })
    recordEcho(traces, 'run-3', 'x')
    await eventually(() => expect(heard).deep.equal(['run-3']))
  })

  it('writes no secrets of the environment anywhere', async () => {
    const project = await makeProject()
    const traces = await openTraces(project, { redact: makeRedact({ MY_API_KEY: 'canary-0123456789' }) })
    const [call] = echoRun('run-1', 'the key is canary-0123456789') as [AgentEvent]
    traces.record({ ...call, arguments: { args: [{ 'canary-0123456789': 1, url: 'http://x/?k=canary-0123456789' }] } })
    traces.record(eventOf({ event_type: 'exception', call_id: 'run-1.1', exception: 'Error: canary-0123456789' }))
    await traces.close()
    for (const file of await readdir(project.path('debug'))) {
      expect((await project.read(`debug/${file}`)).includes('canary'), file).equal(false)
    }
  })

  it('writes each line whole where a text names the beginning of a private key, or a number has the digits of a secret', async () => {
    const project = await makeProject()
    const traces = await openTraces(project, { redact: makeRedact({ DB_PASSWORD: '12345678' }) })
    const events = echoRun('run-1', 'It begins with -----BEGIN PRIVATE KEY-----, always.')
    const [last = events[0]] = events.splice(-1)
    events.push({ ...last, result: { order: 123456789 } } as AgentEvent)
    recordAll(traces, events)
    await traces.close()
    const written = (await linesOf(project, 'echo.jsonl')).map((line) => JSON.parse(line) as AgentEvent)
    expect(written.map(({ call_id }) => call_id)).deep.equal(events.map(({ call_id }) => call_id))
    expect(JSON.stringify(written[0]?.arguments)).contain('with -----BEGIN PRIVATE KEY-----[redacted]"')
    expect(written.at(-1)?.result).deep.equal({ order: '[redacted]9' })
  })

  it('aggregates runs and calls of modules over time', async () => {
    const traces = await openTraces(await makeProject())
    recordEcho(traces, 'run-1', 'a', 1_700_000_000)
    recordEcho(traces, 'run-2', 'b', 1_700_000_065)
    const query = { since: 1_699_999_980, until: 1_700_000_100, bucketSeconds: 60 }
    const { total, points, agents, modules } = await traces.query('metrics', query)
    expect([total.count, total.errors, Math.round(total.p50_ms ?? 0)]).deep.equal([2, 0, 490])
    expect(points.map(({ time, count }) => [time, count])).deep.equal([
      [1_699_999_980, 1],
      [1_700_000_040, 1],
    ])
    expect(agents.map(({ agent_id, count, last_at }) => [agent_id, count, last_at])).deep.equal([
      ['echo', 2, 1_700_000_065],
    ])
    expect(modules.map(({ module_id, count }) => [module_id, count])).deep.equal([['main', 2]])
    const own = await traces.query('metrics', { ...query, moduleId: 'main' })
    expect([own.total.count, Math.round(own.total.p95_ms ?? 0)]).deep.equal([2, 490])
  })

  it('counts a failure once, through however many calls it passes', async () => {
    const traces = await openTraces(await makeProject())
    const call = { call_id: 'a', module_id: 'main', caller_id: 'agent:echo', parent_call_id: null, run_id: 'run-1' }
    const model = { ...call, call_id: 'b', module_id: 'llm', caller_id: 'main', parent_call_id: 'a' }
    const tool = { ...model, call_id: 'c', module_id: 'tool' }
    for (const event of [
      { ...call, event_type: 'call' },
      { ...tool, event_type: 'call' },
      { ...tool, event_type: 'exception', exception: 'Error: closed' },
      { ...model, event_type: 'call' },
      { ...model, event_type: 'exception', exception: 'Error: away' },
      { ...call, event_type: 'exception', exception: 'HostError: it failed\nCaused by: Error: away' },
    ] as const) {
      traces.record(eventOf(event))
    }
    expect((await traces.query('run', 'run-1'))?.errors).equal(2)
  })

  it('aggregates tools by name: ended calls, errors, and the models within them', async () => {
    const traces = await openTraces(await makeProject())
    const [begin, , , end] = echoRun('run-1', 'a') as [AgentEvent, AgentEvent, AgentEvent, AgentEvent]
    const usage = { type: 'usage', model: 'gpt-4.1', usage: { inputTokens: 7, outputTokens: 3 } }
    const call = (id: string, parent: string, given: Partial<AgentEvent>, outcome: Partial<AgentEvent>) => {
      const facts = { call_id: id, parent_call_id: parent, module_id: 'shop', ...given }
      const event_type = outcome.exception ? 'exception' : 'result'
      const closing = eventOf({ ...facts, arguments: null, duration_ms: 40, ...outcome, event_type })
      return [eventOf({ ...facts, event_type: 'call' }), closing] as const
    }
    const tool = (name: string) => ({ method_name: 'executeTool', arguments: { args: [name, {}] } })
    const [outer, outerEnd] = call('2', 'run-1.1', tool('find'), { result: { text: 'A1' } })
    const [inner, innerEnd] = call('3', '2', { ...tool('find'), module_id: 'inner' }, { result: { text: 'A1' } })
    const model = call('4', '3', { method_name: 'generate', module_id: 'llm' }, { result: [usage] })
    const refused = call('5', 'run-1.1', tool('find'), { result: { text: 'no', isError: true } })
    const failed = call('6', 'run-1.1', tool('pay'), { exception: 'Error: no money' })
    const waits = call('7', 'run-1.1', tool('ask'), { result: { waits_for: [] } })
    recordAll(traces, [begin, outer, inner, ...model, innerEnd, outerEnd, ...refused, ...failed, ...waits, end])
    const { tools } = await traces.query('metrics', { since: 1_699_999_980, until: 1_700_000_100, bucketSeconds: 60 })
    expect(
      tools.map(({ tool_name, count, errors, input_tokens }) => [tool_name, count, errors, input_tokens]),
    ).deep.equal([
      ['find', 2, 1, 7],
      ['pay', 1, 1, 0],
    ])
    expect(Math.round(tools[0]?.p95_ms ?? 0)).within(39, 41)
    const found = async (toolName: string) => (await traces.query('runs', { ...ALL, filter: { toolName } })).runs.length
    expect([await found('find'), await found('fin'), await found('fi%')]).deep.equal([1, 0, 0])
    // A tool that waits is named, and counts once it is called.
    const listed = (await traces.query('run', 'run-1'))?.tools.map(({ name, calls }) => [name, calls])
    expect(listed).deep.equal([
      ['find', 2],
      ['pay', 1],
      ['ask', 0],
    ])
  })

  it('counts a call whose result is a large matrix', async () => {
    const traces = await openTraces(await makeProject())
    const data = Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, Math.random))
    const call = { method_name: 'executeTool', module_id: 'tools', call_id: 'run-1.5', parent_call_id: 'run-1.1' }
    const [begin, respond, responded, end] = echoRun('run-1', 'hi') as [AgentEvent, AgentEvent, AgentEvent, AgentEvent]
    recordAll(traces, [
      begin,
      eventOf({ ...call, event_type: 'call', arguments: { args: ['measure', {}] } }),
      eventOf({ ...call, event_type: 'result', result: { text: '', data } }),
      respond,
      responded,
      end,
    ])
    const { runs } = await traces.query('runs', ALL)
    expect(runs.map(({ results, tools }) => [results, tools])).deep.equal([
      [3, [{ name: 'measure', calls: 1, errors: 0, rejected: 0 }]],
    ])
  })

  it('aggregates the versions of an agent, oldest first, even from the files alone', async () => {
    const project = await makeProject()
    const versions = [
      ['run-1', 'old', 1_700_000_000],
      ['run-2', 'old', 1_700_000_010],
      ['run-3', 'new', 1_700_000_020],
    ] as const
    const traces = await openTraces(project)
    for (const [id, agent_version, time] of versions) {
      recordRun(
        traces,
        echoRun(id, 'hi', time).map((event) => ({ ...event, agent_version })),
      )
    }
    await traces.close()
    for (const file of ['index.db', 'index.db-wal', 'index.db-shm'])
      await rm(project.path(`debug/${file}`), { force: true })
    const again = await openTraces(project)
    const view = await again.query('metrics', { since: 1_699_999_980, until: 1_700_000_100, bucketSeconds: 60 })
    expect(view.versions.map(({ agent_version, count, first_at }) => [agent_version, count, first_at])).deep.equal([
      ['old', 2, 1_700_000_000],
      ['new', 1, 1_700_000_020],
    ])
    const filter = { agentVersion: 'new' }
    expect((await again.query('runs', { ...ALL, filter })).runs.map(({ run_id }) => run_id)).deep.equal(['run-3'])
  })

  it('avoids names that Windows reserves for devices', async () => {
    const { dir } = await makeProject()
    const windows = new TraceFiles(dir, 'win32')
    expect(['con', 'Aux.helper', 'com1', 'console', 'a.con'].map((id) => windows.nameOf(id, ''))).to.deep.equal([
      '%63on.jsonl',
      '%41ux.helper.jsonl',
      '%63om1.jsonl',
      'console.jsonl',
      'a.con.jsonl',
    ])
    expect(new TraceFiles(dir, 'linux').nameOf('con', '')).to.equal('con.jsonl')
  })

  it('neither writes nor reads through a link in its folder', async () => {
    const project = await makeProject()
    const [line] = echoRun('run-1', 'from elsewhere').map((event) => JSON.stringify(event))
    await project.write('elsewhere.jsonl', `${line}\n`)
    await project.write('debug/other', '')
    await symlink(project.path('elsewhere.jsonl'), project.path('debug/echo.jsonl'))
    const traces = await openTraces(project)
    recordEcho(traces, 'run-2', 'mine')
    await eventually(() => expect(traces.counts()).deep.include({ written: 0, dropped: 5 }))
    expect((await traces.query('runs', ALL)).runs).deep.equal([])
    expect((await traces.query('log', { agentId: 'echo', limit: 10 })).lines).deep.equal([])
    expect(await project.read('elsewhere.jsonl')).equal(`${line}\n`)
  })

  it('has no traces for ids that cannot be file names', async () => {
    const traces = await openTraces(await makeProject())
    const query = { agentId: 'a'.repeat(10_000), limit: 10 }
    expect(await traces.query('log', query)).deep.equal({ lines: [], hasMore: false })
  })

  it('explains an unusable folder', async () => {
    const project = await makeProject({ debug: 'a file where the folder should be' })
    const failure = await openTraces(project).catch((error: unknown) => error as Error)
    expect(failure).property('code', 'STORE_UNAVAILABLE')
    expect(failure)
      .property('message')
      .match(/^Traces cannot be kept in .*debug: EEXIST/)
  })

  for (const size of [1, 2, 7]) {
    it(`has no secret that a model streams in pieces of ${size} characters, in events as in the list of runs`, async () => {
      const project = await makeProject()
      const secrets = { VENDOR_API_KEY: 'the-key-of-a-vendor' }
      const traces = await openTraces(project, { secrets, redact: makeRedact(secrets) })
      const host = new AgentHost()
      traces.follow(host)
      await host.register({
        id: 'talker',
        modules: [
          { id: 'llm', module: 'llm/mock', config: { replies: ['-'] } },
          { id: 'loop', module: 'orchestrator/tool-loop' },
        ],
      })
      const pieces = `It is ${secrets.VENDOR_API_KEY}.`.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
      const parts = pieces.flatMap((text): LLMPart[] => [
        { type: 'text', text },
        { type: 'reasoning', text },
      ])
      const { text } = await host.run('talker', [{ role: 'user', content: 'hi' }], {
        overrides: { llm: fakeLLM(parts) },
      })
      expect(text).equal(`It is ${secrets.VENDOR_API_KEY}.`)
      const { runs } = await traces.query('runs', ALL)
      expect(runs[0]?.output).match(/^It is (the)?\[redacted\]\.$/)
      await traces.close()
      const events = (await linesOf(project, 'talker.jsonl')).map((line) => JSON.parse(line) as AgentEvent)
      for (const method of ['respondText', 'respondReasoning']) {
        const calls = events.filter((event) => event.method_name === method && event.event_type === 'call')
        expect(calls.map((event) => event.arguments?.args[0]).join('')).match(/^It is (the)?\[redacted\]\.$/)
      }
      const answer = events.find((event) => event.method_name === 'generate' && event.event_type === 'result')
      const said = ((answer?.result ?? []) as LLMPart[]).flatMap((part) => ('text' in part ? part.text : []))
      expect(said.join('')).equal('It is [redacted].It is [redacted].')
      await host.close()
    })
  }
})
