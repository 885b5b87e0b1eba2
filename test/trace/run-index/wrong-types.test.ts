import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { silentLog } from '../../../src/protocols/log.ts'
import { readEntry } from '../../../src/replicas/replica-rows.ts'
import { toEndEvent } from '../../../src/trace/files/end-event.ts'
import { TraceReader } from '../../../src/trace/trace-reader.ts'
import { Traces } from '../../../src/trace/traces.ts'
import { echoRun, endOf } from '../../support/events.ts'
import { makeProject } from '../../support/temp-project.ts'

const READER = new URL('../../../src/trace/trace-reader.ts', import.meta.url).href
const ODD_VALUES: readonly unknown[] = [{}, [], true, { toString: null }, [1]]
const BEGIN_FACTS = [
  'tenant',
  'entry_point',
  'server',
  'agent_version',
  'continues',
  'conversation',
  'eval_case',
  'parent_run_id',
  'parent_run_call_id',
  'user',
  'module_id',
  'method_name',
]
const END_FACTS = ['incomplete', 'expires_at', 'text', 'first_text_ms', 'input_tokens', 'output_tokens']
const linesOf = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('')

/** Lines of runs, each with one fact of a wrong type, and those of a run that has none. */
function oddTrace(): string {
  const odd = ODD_VALUES.flatMap((value, number) => {
    const begins: object[] = BEGIN_FACTS.map((fact) => {
      const [begin] = echoRun(`odd-${fact}-${number}`, 'hi')
      return { ...begin, [fact]: value }
    })
    const [begin] = echoRun(`odd-replays-${number}`, 'hi')
    begins.push({ ...begin, replays: { run_id: value, from_call: value } })
    // Such a line begins no run, but is one of it.
    begins.push({ ...begin, run_id: `end-caller-${number}`, caller_id: value })
    const ends = [...END_FACTS, 'exception', 'duration_ms'].flatMap((fact) => {
      const runId = `end-${fact}-${number}`
      const end = toEndEvent(endOf(runId))
      const isOutcome = END_FACTS.includes(fact)
      const said = isOutcome ? { result: { ...Object(end.result), [fact]: value } } : { [fact]: value }
      return [...echoRun(runId, 'hi'), { ...end, ...said }]
    })
    return [...begins, ...ends]
  })
  return linesOf([...odd, ...echoRun('good', 'hi', 1_700_000_100), toEndEvent(endOf('good'))])
}

/** What a process of its own reads: libsql ends it over a value that it cannot bind. */
async function readInProcess(dir: string): Promise<unknown> {
  const script = `
    import { appendFileSync } from 'node:fs'
    import { TraceReader } from ${JSON.stringify(READER)}
    const [dir, later] = process.argv.slice(1)
    const reader = new TraceReader(dir, ${1024 ** 2})
    reader.catchUp()
    appendFileSync(dir + '/other.jsonl', later)
    reader.lookAround()
    reader.catchUp()
    const { runs } = reader.index.runs.list({ filter: {}, first: 1000, after: undefined })
    process.stdout.write(JSON.stringify(runs.filter(({ run_id }) => !run_id.startsWith('end-'))
      .map(({ run_id, status }) => [run_id, status])))
    reader.close()`
  const later = linesOf(echoRun('later', 'hi', 1_700_000_200, 'other'))
  const options = ['--import=tsx', '--conditions=agent-host-source', '--input-type=module', '-e', script, dir, later]
  return JSON.parse((await promisify(execFile)(process.execPath, options)).stdout)
}

describe('Values of a wrong type', () => {
  it('of a trace hurt their line alone', async () => {
    const project = await makeProject({ 'debug/echo.jsonl': oddTrace() })
    expect(await readInProcess(project.path('debug'))).to.deep.equal([
      ['later', 'running'],
      ['good', 'completed'],
    ])
  })

  it('of the code of an agent are refused, and its runs listed', async () => {
    const project = await makeProject({
      'modules/main.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Main', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await response.respondText('hi')
    const passedOn = run.with({ markIncomplete: (reason) => run.markIncomplete(reason) })
    if (text !== '') passedOn.markIncomplete(JSON.parse(text))
  } }) })`,
    })
    const host = new AgentHost({ projectDir: project.dir })
    await host.register({ id: 'a', modules: [{ id: 'main', module: 'main' }] })
    const options = { dir: project.path('debug'), maxBytes: 1024 ** 2, redact: (text: string) => text, log: silentLog }
    const traces = await Traces.open(options)
    traces.follow(host)
    const messages: unknown[] = []
    for (const text of ['true', '{"a":1}', '[]', 'null'])
      messages.push(await host.run('a', text).then(undefined, (error: Error) => String(error.cause)))
    await host.run('a', '')
    expect(messages).to.deep.equal([
      'TypeError: markIncomplete takes a string, not boolean.',
      'TypeError: markIncomplete takes a string, not object.',
      'TypeError: markIncomplete takes a string, not object.',
      'TypeError: markIncomplete takes a string, not object.',
    ])
    const { runs } = await traces.query('runs', { filter: {}, first: 10, after: undefined, isAscending: true })
    expect(runs.map(({ status }) => status)).to.deep.equal(['failed', 'failed', 'failed', 'failed', 'completed'])
    await traces.close()
    await host.close()
  })

  it('of what another server publishes hurt their run alone', async () => {
    const project = await makeProject({ 'debug/echo.jsonl': linesOf(echoRun('good', 'hi')) })
    const reader = new TraceReader(project.path('debug'), 1024 ** 2)
    reader.catchUp()
    const { runs } = reader.index
    const good = runs.find('good')
    if (!good) throw new Error('The run was not indexed.')
    const { summary } = good
    const odd = { agent_id: {}, models: [null], status: undefined, input_tokens: null, started_at: 'x', output: [] }
    const records = [
      ...Object.entries(odd).map(([fact, value]) => ({
        ...good,
        summary: { ...summary, run_id: fact, [fact]: value },
      })),
      ...[{ tools: { t: null } }, { tools: [] }, { modules: { m: {} } }, { modules: undefined }].map(
        (stats, number) => {
          return { ...good, ...stats, summary: { ...summary, run_id: `stats-${number}` } }
        },
      ),
      { summary: { run_id: 'x' } },
      { ...good, summary: { ...summary, run_id: 'remote' } },
    ]
    runs.putRemote(records as Parameters<typeof runs.putRemote>[0])
    const page = runs.list({ filter: {}, first: 100, after: undefined })
    expect(page.runs.map(({ run_id }) => run_id)).to.deep.equal(['remote', 'good'])
    expect(runs.metrics({ since: 0, until: 2e9, bucketSeconds: 1e9 }).total.count).to.equal(2)
    reader.close()
  })

  it('make an entry of the log of a server one that cannot be read', () => {
    const entryOf = (summary: object) => readEntry(JSON.stringify({ version: 1, at: 0, record: { summary } }))
    expect(entryOf({ run_id: 'x' })?.record.summary.run_id).to.equal('x')
    for (const fact of [{ agent_id: {} }, { calls: '1' }, { models: {} }, { user: true }, { started_at: null }])
      expect([fact, entryOf({ run_id: 'x', ...fact })]).to.deep.equal([fact, undefined])
  })
})
