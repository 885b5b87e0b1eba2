import { setTimeout } from 'node:timers/promises'
import type { AgentEvent } from 'agent-host'
import { expect } from 'chai'
import { silentLog } from '../../src/protocols/log.ts'
import type { RunSummary } from '../../src/trace/run-columns.ts'
import { Traces } from '../../src/trace/traces.ts'
import { callCli } from '../support/call-cli.ts'
import { echoRun, endOf, eventOf, recordEcho, recordRun } from '../support/events.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const NO_AGENTS = { 'agents/none.txt': '' }
const redact = (text: string) => text
const openTraces = ({ dir }: TempProject) =>
  Traces.open({ dir: `${dir}/debug`, maxBytes: 1024 ** 2, redact, log: silentLog })

/** A project in which three runs were traced by a server that is gone. */
async function makeTracedProject(): Promise<TempProject> {
  const project = await makeProject(NO_AGENTS)
  const traces = await openTraces(project)
  recordEcho(traces, 'aaaa-1', 'first question')
  recordEcho(traces, 'aabb-2', 'second \u001b[31m\u2066question', 1_700_000_100, 'other')
  const failed = { run_id: 'cccc-3', agent_id: 'other', call_id: 'cccc-3.1', time: 1_700_000_200 }
  recordRun(
    traces,
    [
      eventOf({ ...failed, event_type: 'call', arguments: { args: ['third question', { run: 'cccc-3' }] } }),
      eventOf({ ...failed, event_type: 'exception', exception: 'Error: no luck\n    at x', duration_ms: 1500 }),
    ],
    { status: 'failed', durationMs: 1500 },
  )
  await traces.close()
  return project
}

describe('runs', () => {
  afterEach(killRunning)

  it('lists the latest runs below a header, the newest first', async () => {
    const { dir } = await makeTracedProject()
    const { exitCode, stdout, stderr } = await runCli(['runs'], { cwd: dir, env: { TZ: 'UTC', LC_ALL: 'en_US' } })
    expect({ exitCode, stderr, stdout: stdout.replaceAll('\u202f', ' ') }).deep.equal({
      exitCode: 0,
      stderr: '',
      stdout: `RUN     STARTED                 AGENT  STATUS       TIME  CALLS  INPUT                            ERROR
cccc-3  Nov 14, 2023, 22:16:40  other  failed     1.50 s      1  third question                   no luck
aabb-2  Nov 14, 2023, 22:15:00  other  completed  500 ms      1  second \\u001b[31m\\u2066question
aaaa-1  Nov 14, 2023, 22:13:20  echo   completed  500 ms      1  first question
`,
    })
  })

  it('lists a run of a command that a server has not seen, though the server keeps the index', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n' })
    await startCli(['dev', '--port', '0'], { cwd: dir }).printed(/ready at/)
    expect((await runCli(['chat', '--once', 'from another process'], { cwd: dir })).exitCode).equal(0)
    expect((await callCli(['runs'], { cwd: dir })).stdout).match(/completed .* from another process/)
  })

  it('filters them, and prints JSON', async () => {
    const { dir } = await makeTracedProject()
    const { stdout } = await callCli(['runs', '--agent', 'other', '--status', 'failed', '--json'], { cwd: dir })
    const { runs } = JSON.parse(stdout)
    expect(runs).lengthOf(1)
    expect(runs[0]).include({ run_id: 'cccc-3', status: 'failed', input: 'third question', duration_ms: 1500 })
    expect((await callCli(['runs', '--text', 'nothing'], { cwd: dir })).stdout).equal('No matching runs.\n')
    const { stdout: latest } = await callCli(['runs', '--limit', '1'], { cwd: dir })
    expect(latest).match(/\ncccc-3 /)
  })

  it('shows what a tool reports as an error without throwing it', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const call = { run_id: 'dddd-4', call_id: 'dddd-4.1', method_name: 'executeTool' }
    recordRun(traces, [
      eventOf({ ...call, event_type: 'call', arguments: { args: ['open', {}] } }),
      eventOf({ ...call, event_type: 'result', result: { text: 'ENOENT: a.txt', isError: true }, duration_ms: 1 }),
    ])
    await traces.close()
    expect((await callCli(['runs'], { cwd: project.dir })).stdout).match(/completed .* ENOENT: a\.txt\n$/)
  })

  it('shortens ids no further than they stay unique', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const ids = ['0199a1b2-c3d4-7001-8000-0000000000aa', '0199a1b2-c3d4-7002-8000-0000000000aa']
    for (const id of [...ids, '0199a1b2-c3d5-7001-8000-0000000000aa']) recordEcho(traces, id, 'question')
    await traces.close()
    const [, ...lines] = (await callCli(['runs'], { cwd: project.dir })).stdout.trimEnd().split('\n')
    const shown = lines.map((line) => line.split(' ')[0]).sort()
    expect(shown).deep.equal(['0199a1b2-c3d4-7001', '0199a1b2-c3d4-7002', '0199a1b2-c3d5'])
    expect((await callCli(['runs', 'show', shown[0] ?? ''], { cwd: project.dir })).stdout).contain(`${ids[0]}\n`)
  })

  it('says so while nothing was traced', async () => {
    const project = await makeProject(NO_AGENTS)
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    const none = /^This project has no runs yet\. `agent-host dev`, `chat`, /
    expect(await list()).match(none)
    expect(project.exists('debug')).equal(false)
    await (await openTraces(project)).close()
    expect(await list()).match(none)
    expect(JSON.parse(await list('--json'))).deep.equal({ runs: [] })
  })

  it('shows a run as a tree of its calls, by the beginning of its id', async () => {
    const { dir } = await makeTracedProject()
    expect(await callCli(['runs', 'show', 'aaa'], { cwd: dir })).deep.equal({
      exitCode: 0,
      stderr: '',
      stdout: `echo  aaaa-1
completed  500 ms, first text after 250 ms  1 call, 0 errors
input   first question
output  first question

main.handleText("first question")  500 ms
└─ __response__.respondText("first question")  0.50 ms
`,
    })
    const { stdout } = await callCli(['runs', 'show', 'cccc-3'], { cwd: dir })
    expect(stdout)
      .contain('error   no luck\n')
      .contain('✗ main.handleText("third question") → Error: no luck  1.50 s\n')
      .contain('1 call, 1 error\n')
  })

  it('shows a streamed answer as one line, and results of tools next to their calls', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const step = (id: string, method: string, args: unknown[], result: unknown, exception: string | null = null) => {
      const own = { run_id: 'r-1', call_id: id, parent_call_id: 'r-1.0', module_id: 'm', method_name: method }
      traces.record(eventOf({ ...own, event_type: 'call', arguments: { args } }))
      const type = exception === null ? ('result' as const) : ('exception' as const)
      traces.record(eventOf({ ...own, event_type: type, result, exception, duration_ms: 1 }))
    }
    traces.record(eventOf({ run_id: 'r-1', call_id: 'r-1.0', event_type: 'call', arguments: { args: ['hi'] } }))
    step('r-1.1', 'executeTool', ['sum', { a: 1 }], { text: '3' })
    step('r-1.2', 'executeTool', ['sum', {}], { text: 'no a', isError: true })
    step('r-1.3', 'executeTool', ['div', {}], null, 'Error: by zero\n    at x')
    for (const [index, text] of ['one ', 'two ', 'three'].entries())
      step(`r-1.${index + 4}`, 'respondText', [text], null)
    traces.record(eventOf({ run_id: 'r-1', call_id: 'r-1.0', event_type: 'result', duration_ms: 9 }))
    await traces.close()
    const { stdout } = await callCli(['runs', 'show', 'r-1'], { cwd: project.dir })
    expect(stdout.split('\n\n')[1]).equal(`main.handleText("hi")  9.0 ms
├─ m.executeTool sum({"a":1}) → 3  1.0 ms
├─ m.executeTool sum({}) → failed: no a  1.0 ms
├─ ✗ m.executeTool div({}) → Error: by zero  1.0 ms
└─ m.respondText("one two three") ×3  3.0 ms
`)
  })

  it('prints a run with all its events as JSON, or as a diagram', async () => {
    const { dir } = await makeTracedProject()
    const { run, events } = JSON.parse((await callCli(['runs', 'show', 'aaaa-1', '--json'], { cwd: dir })).stdout)
    expect([run.run_id, events.slice(0, -1)]).deep.equal(['aaaa-1', echoRun('aaaa-1', 'first question')])
    expect(events.at(-1)).deep.include({ event_type: 'end', event_name: '__run__.Run.end.end', duration_ms: 500 })
    expect(events.at(-1).result).deep.equal({
      status: 'completed',
      text: 'first question',
      attachments: [],
      first_text_ms: 250,
      incomplete: null,
      waits_for: [],
      input_tokens: 0,
      output_tokens: 0,
    })
    const { stdout } = await callCli(['runs', 'show', 'aaaa-1', '--mermaid'], { cwd: dir })
    expect(stdout).match(/^sequenceDiagram\n {2}participant p0 as agent echo\n/)
  })

  it('shows a run that waited and the run that continues it as belonging together', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    // Ids of stored responses begin with the time.
    const first = '019a0000-1111-7001-8000-000000000000'
    const second = '019a0000-2222-7001-8000-000000000000'
    const facts = { agent_id: 'shop', run_id: first, call_id: `${first}.1` }
    const begin = eventOf({ ...facts, event_type: 'call', arguments: { args: ['pay Ann', { run: first }] } })
    recordRun(traces, [begin, eventOf({ ...facts, event_type: 'result', duration_ms: 20 })], {
      status: 'waiting',
      pending: [{ callId: 'c1', kind: 'approval', name: 'pay', arguments: {} }],
    })
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    await traces.query('runs', { filter: {}, first: 1, after: undefined })
    expect(await list()).match(/^019a0000-1111 .* waiting for a person .* 1 {2}pay Ann$/m)
    const [call, ...rest] = echoRun(second, 'pay Ann', 1_700_000_300, 'shop')
    recordRun(traces, [{ ...(call as AgentEvent), continues: first }, ...rest])
    await traces.close()
    const [, ...rows] = (await list()).trimEnd().split('\n')
    expect(rows[0]).match(/^019a0000-2222 .* completed .* 1 {2}\(continues 019a0000-1111\) pay Ann$/)
    expect(rows[1]).match(/^019a0000-1111 .* continued .* 1 {2}\(continued by 019a0000-2222\) pay Ann$/)
    expect(await list('--status', 'waiting')).equal('No matching runs.\n')
    const { runs } = JSON.parse(await list('--json'))
    expect(runs.map((run: RunSummary) => [run.status, run.continues, run.continued_by])).deep.equal([
      ['completed', first, null],
      ['continued', null, second],
    ])
    expect(await list('show', second)).contain(`\ncontinues     ${first}\n`)
    expect(await list('show', first)).contain(`\ncontinued by  ${second}\n`)
  })

  it('says of a run that its approval has expired, unless another has continued it', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const wait = (runId: string, ttls: readonly object[]) =>
      recordRun(traces, echoRun(runId, 'pay Ann', Date.now() / 1000 - 100, 'shop'), {
        status: 'waiting',
        pending: ttls.map((ttl, index) => ({
          ...{ callId: `c${index}`, kind: 'approval', name: 'pay', arguments: {} },
          ...ttl,
        })),
      })
    wait('aaaa-1', [{ ttlSeconds: 90 }, { ttlSeconds: 10 }])
    wait('bbbb-2', [{ ttlSeconds: 900 }, { ttlSeconds: 10 }])
    wait('cccc-3', [{ ttlSeconds: 10 }, {}])
    wait('dddd-4', [{ ttlSeconds: 10 }])
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    const statuses = async () => {
      const { runs } = JSON.parse(await list('--json')) as { runs: RunSummary[] }
      return Object.fromEntries(runs.map(({ run_id, status }) => [run_id, status]))
    }
    await traces.query('runs', { filter: {}, first: 1, after: undefined })
    const waiting = { 'aaaa-1': 'expired', 'bbbb-2': 'waiting', 'cccc-3': 'waiting' }
    expect(await statuses()).deep.equal({ ...waiting, 'dddd-4': 'expired' })
    expect((await list('--status', 'expired')).split('\n')).lengthOf(4)
    expect(await list('show', 'aaaa-1')).match(/^expired {2}500 ms/m)
    const [call, ...rest] = echoRun('eeee-5', 'pay Ann', Date.now() / 1000, 'shop')
    recordRun(traces, [{ ...(call as AgentEvent), continues: 'dddd-4' }, ...rest])
    await traces.close()
    expect(await statuses()).deep.equal({ ...waiting, 'dddd-4': 'continued', 'eeee-5': 'completed' })
  })

  it('lists the runs of one user, and of one conversation', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const turn = (runId: string, facts: Partial<AgentEvent>) => {
      const [call, ...rest] = echoRun(runId, 'hello')
      recordRun(traces, [{ ...(call as AgentEvent), ...facts }, ...rest])
    }
    turn('aaaa-1', { user: 'ada' })
    turn('bbbb-2', { user: 'ada', conversation: 'aaaa-1' })
    turn('cccc-3', { user: 'bob', conversation: 'conv_1' })
    await traces.close()
    const list = async (...args: string[]) => {
      const { runs } = JSON.parse((await callCli(['runs', ...args, '--json'], { cwd: project.dir })).stdout)
      return runs.map(({ run_id }: RunSummary) => run_id).sort()
    }
    expect(await list('--user', 'ada')).deep.equal(['aaaa-1', 'bbbb-2'])
    expect(await list('--conversation', 'aaaa-1')).deep.equal(['aaaa-1', 'bbbb-2'])
    expect(await list('--conversation', 'conv_1')).deep.equal(['cccc-3'])
    expect(await list('--text', 'conv_1')).deep.equal(['cccc-3'])
    const shown = (await callCli(['runs', 'show', 'cccc'], { cwd: project.dir })).stdout
    expect(shown).contain('\nuser          bob\nconversation  conv_1\n')
  })

  it('shows a run that another has called, and those that a run has called', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const [parent, child] = ['aaaaaaaa-0000-4000-8000-000000000000', 'bbbbbbbb-0000-4000-8000-000000000000']
    recordRun(traces, echoRun(parent, 'hello', 1_700_000_000, 'desk'))
    const [call, ...rest] = echoRun(child, 'go', 1_700_000_001, 'billing')
    const origin = { parent_run_id: parent, parent_run_call_id: `${parent}.1` }
    recordRun(traces, [{ ...(call as AgentEvent), ...origin }, ...rest])
    await traces.close()
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    const [, ...rows] = (await list()).trimEnd().split('\n')
    expect(rows[0]).match(/^aaaaaaaa .* desk .* {2}hello$/)
    expect(rows[1]).match(/^bbbbbbbb .* └ billing .* {2}go$/)
    expect(await list('--agent', 'billing')).match(/billing .* {2}\(called by aaaaaaaa\) go$/m)
    expect((await list('show', parent)).split('\n').slice(-5)).deep.equal([
      'main.handleText("hello")  500 ms',
      '├─ __response__.respondText("hello")  0.50 ms',
      '└─ billing/main.handleText("go")  500 ms',
      '   └─ billing/__response__.respondText("go")  0.50 ms',
      '',
    ])
    const { below, events } = JSON.parse(await list('show', parent, '--json'))
    expect(below.map(({ run_id }: RunSummary) => run_id)).deep.equal([child])
    expect(events).lengthOf(10)
    expect(await list('show', parent, '--mermaid')).match(/p0->>\+p1: handleText(.|\n)*p1->>\+p3: handleText/)
    expect(await list('show', parent)).contain(`\ncalled        ${child}  billing, completed\n`)
    expect(await list('show', child)).contain(`\ncalled by     ${parent}\n`)
  })

  it('marks the run of a variant with the values that it changed', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    const [call, ...rest] = echoRun('aaaa-1', 'hello')
    const variant = [
      { module: 'loop', path: ['system_prompt'], value: 'Be kind. Be brief.', before: 'Be kind.' },
      { module: 'llm', path: ['limits', 0], value: 1 },
    ]
    recordRun(traces, [{ ...(call as AgentEvent), variant }, ...rest])
    await traces.close()
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    expect(await list()).match(/ 1 {2}\(variant: system_prompt: \+Be b/)
    expect(await list('show', 'aaaa')).contain('\nvariant       system_prompt: +Be brief., llm.limits[0]: 1\n')
  })

  it('says that a run handed a call to its client, and why an answer is incomplete', async () => {
    const project = await makeProject(NO_AGENTS)
    const traces = await openTraces(project)
    recordRun(traces, echoRun('aaaa-1', 'weather?'), {
      status: 'waiting',
      pending: [{ callId: 'c1', kind: 'client_tool', name: 'weather', arguments: {} }],
    })
    recordRun(traces, echoRun('bbbb-2', 'write on', 1_700_000_100), { incompleteReason: 'max_output_tokens' })
    await traces.close()
    const list = async (...args: string[]) => (await callCli(['runs', ...args], { cwd: project.dir })).stdout
    const [, ...rows] = (await list()).trimEnd().split('\n')
    expect(rows[0]).match(/ incomplete: max_output_tokens .* 1 {2}write on$/)
    expect(rows[1]).match(/ handed to the client .* 1 {2}weather\?$/)
    expect(await list('--status', 'waiting')).equal('No matching runs.\n')
    expect((await list('--status', 'handed_to_client')).split('\n')).lengthOf(3)
    expect(await list('show', 'aaaa-1')).match(/^handed to the client {2}500 ms/m)
    expect(await list('show', 'bbbb-2')).match(/^completed {2}500 ms.*\nincomplete {4}max_output_tokens$/m)
  })

  it('explains an unknown run, an ambiguous id, and missing traces', async () => {
    const { dir } = await makeTracedProject()
    const fail = async (args: string[], cwd = dir) => {
      const { exitCode, stdout, stderr } = await callCli(args, { cwd })
      expect([exitCode, stdout]).deep.equal([1, ''])
      return stderr.split('\n')
    }
    expect((await fail(['runs', 'show', 'dddd']))[0]).equal("Error: There is no run 'dddd'.")
    const several = await fail(['runs', 'show', 'aa'])
    expect(several[0]).equal("Error: Several runs begin with 'aa'. Add more characters of one of these:")
    expect(
      several
        .slice(1, 3)
        .map((line) => line.trim())
        .sort(),
    ).deep.equal(['aaaa-1', 'aabb-2'])
    const empty = await makeProject(NO_AGENTS)
    const none = await fail(['runs', 'show', 'aa'], empty.dir)
    expect(none[0]).equal('Error: This project has no runs yet.')
    expect(none[1]).contain('`agent-host dev`, `chat`, ')
    expect(empty.exists('debug')).equal(false)
  })

  it('follows a server: a line when a run starts, and one when it ends', async () => {
    const project = await makeTracedProject()
    const server = await openTraces(project)
    const tail = startCli(['runs', 'tail', '--agent', 'echo'], { cwd: project.dir })
    try {
      // The header stands there once it looks: what comes then is news.
      await tail.printed(/^RUN +STARTED/)
      for (const event of echoRun('live-0', 'asked by an eval')) server.record({ ...event, eval_case: 'first' })
      for (const event of echoRun('live-1', 'asked just now')) server.record(event)
      await tail.printed(/live-1 .* running .* asked just now/)
      server.recordEnd(endOf('live-1'))
      recordEcho(server, 'live-2', 'not of this agent', 1_700_000_300, 'other')
      await tail.printed(/live-1 .* completed /)
      expect(await tail.stop('SIGINT')).equal(0)
      expect(tail.output()).not.contain('first question').not.contain('live-2').not.contain('live-0')
    } finally {
      await server.close()
    }
  })

  it('ends once its reader has left', async () => {
    const project = await makeTracedProject()
    const server = await openTraces(project)
    const runtime = ['sh', '-c', '"$0" "$@" | head -n 1', process.execPath] as const
    const tail = startCli(['runs', 'tail'], { cwd: project.dir, runtime })
    try {
      await tail.printed(/^RUN +STARTED/)
      let isEnded = false
      const ended = tail.ended().finally(() => {
        isEnded = true
      })
      for (let run = 0; !isEnded; run++) {
        recordEcho(server, `live-${run}`, 'unread', 1_700_000_300)
        await Promise.race([ended, setTimeout(300)])
      }
      expect(await ended).equal(0)
    } finally {
      await server.close()
    }
  })
})
