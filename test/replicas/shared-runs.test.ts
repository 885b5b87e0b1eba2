import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { AgentEvent, RunEnd } from 'agent-host'
import { expect } from 'chai'
import { deferred } from '../../src/async.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { forgetHere } from '../../src/replicas/forget-here.ts'
import { forgetOldServers } from '../../src/replicas/forget-old-servers.ts'
import { forgetRuns } from '../../src/replicas/forget-runs.ts'
import { RunFeed } from '../../src/replicas/run-feed.ts'
import { SharedRuns } from '../../src/replicas/shared-runs.ts'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { TAPE_FOLDER, tapeFile } from '../../src/tape/file/tape-folder.ts'
import type { ForgetQuery } from '../../src/trace/run-index/trace-query.ts'
import { Traces } from '../../src/trace/traces.ts'
import { echoRun, endOf } from '../support/events.ts'
import { eventually } from '../support/eventually.ts'
import { saying } from '../support/fake-llm.ts'
import { makeGuarded } from '../support/guarded-agent.ts'

const ALL = { filter: {}, first: 100, after: undefined }
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

describe('SharedRuns', () => {
  let dir: string
  let closings: (() => Promise<void>)[] = []
  const openRecords = () => openStore({ store: 'sqlite', dir: join(dir, 'store'), projectDir: dir })

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'agent-host-test-shared-'))
  })

  afterEach(async () => {
    for (const close of closings.splice(0)) await close()
    rmSync(dir, { recursive: true, force: true })
  })

  /** A server that has nothing but traces. */
  async function openServer(name: string, folder = name, openStored: () => Promise<RecordStore> = openRecords) {
    const listeners: { event: (event: AgentEvent) => void; end: (end: RunEnd) => void } = { event() {}, end() {} }
    const host = {
      abortAllOf: () => [],
      onEvent(listener: (event: AgentEvent) => void) {
        listeners.event = listener
        return () => {}
      },
      onRunEnd(listener: (end: RunEnd) => void) {
        listeners.end = listener
        return () => {}
      },
    }
    const redact = (text: string) => text
    const options = { dir: join(dir, folder), maxBytes: 1024 ** 2, redact, log: silentLog, server: name }
    const traces = await Traces.open(options)
    const records = new LazyStore(openStored)
    const shared = new SharedRuns({ host, traces, projectDir: join(dir, folder), name, records, log: silentLog })
    traces.addRemote(shared)
    const close = async () => {
      await shared.close()
      await traces.close()
      await records.close()
    }
    closings.push(close)
    const record = (events: readonly AgentEvent[]) => {
      for (const event of events) {
        traces.record(event)
        listeners.event(event)
      }
    }
    const end = (news: RunEnd) => {
      traces.recordEnd(news)
      listeners.end(news)
    }
    return {
      traces,
      forget: (wanted: Partial<ForgetQuery>) =>
        forgetHere({ host, traces, projectDir: join(dir, folder) }, { tenant: '', user: 'ada', runIds: [], ...wanted }),
      record,
      end,
      run(id: string, text: string) {
        record(echoRun(id, text))
        end(endOf(id, { text }))
      },
      async runs() {
        await traces.refresh()
        return (await traces.query('runs', ALL)).runs
      },
      async read(runId: string, first = 100) {
        const run = await traces.query('run', runId)
        if (!run) throw new Error(`no run ${runId}`)
        return traces.events(run, { runId, after: -1, first })
      },
      async stop() {
        closings = closings.filter((each) => each !== close)
        await close()
      },
    }
  }

  it('lists a run of another server with its name, and reads its events from there', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.run('run-1', 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(1), 5000)
    const [seen] = await other.runs()
    expect(seen).to.deep.equal(await one.traces.query('run', 'run-1'))
    expect(seen).to.include({ server: 'web-1', input: 'hello', status: 'completed', output: 'hello', events: 5 })
    const own = await one.read('run-1')
    expect(own.events).to.have.length(5)
    expect(await other.read('run-1')).to.deep.equal({ ...own, isElsewhere: false, elsewhere: null })
    expect(await other.read('run-1', 3)).to.deep.include({ events: own.events.slice(0, 3), hasMore: true })
  })

  it('reads the tape of a run of another server from there, in pieces', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    for (const id of ['run-1', 'run-2']) one.run(id, 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(2), 5000)
    const bytes = randomBytes(2.5 * 1024 * 1024)
    mkdirSync(join(dir, 'web-1', TAPE_FOLDER), { recursive: true })
    writeFileSync(join(dir, 'web-1', TAPE_FOLDER, tapeFile('run-1')), bytes)
    const tapeOf = (run_id: string, server = 'web-1') => other.traces.remoteTape({ run_id, server })
    expect(await tapeOf('run-1')?.exists()).to.equal(true)
    const pieces = await Readable.from(tapeOf('run-1')?.read() ?? []).toArray()
    expect(pieces.map(({ length }) => length)).to.deep.equal([1024 * 1024, 1024 * 1024, 512 * 1024])
    expect(Buffer.concat(pieces).equals(bytes)).to.equal(true)
    for (const none of [tapeOf('run-2'), tapeOf('../../run-1'), tapeOf('run-1', 'web-3')]) {
      expect(await none?.exists()).to.equal(false)
      expect(await Readable.from(none?.read() ?? []).toArray()).to.deep.equal([])
    }
  })

  it('does not put pieces of two tapes together', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.run('run-1', 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(1), 5000)
    const folder = join(dir, 'web-1', TAPE_FOLDER)
    mkdirSync(folder, { recursive: true })
    const path = join(folder, tapeFile('run-1'))
    writeFileSync(path, randomBytes(1.5 * 1024 * 1024))
    const reading = other.traces.remoteTape({ run_id: 'run-1', server: 'web-1' })?.read()
    expect((await reading?.next())?.done).to.equal(false)
    writeFileSync(`${path}.part`, randomBytes(1.5 * 1024 * 1024))
    renameSync(`${path}.part`, path)
    const error = await reading?.next().catch((thrown: unknown) => thrown)
    expect(error).to.have.property('message', "Server 'web-1' gave only a part of the tape of run run-1.")
  })

  it('is waited for where a run is deleted while it is published', async () => {
    const [commits, going] = [deferred(), deferred()]
    const order: string[] = []
    const openSlow = async () => {
      const store = await openRecords()
      const commit = store.commit.bind(store)
      store.commit = async (changes, ...rest) => {
        if (changes.some(([key]) => key.startsWith('trace-runs:'))) {
          commits.resolve()
          await going.promise
          order.push('published')
        }
        return commit(changes, ...rest)
      }
      return store
    }
    const one = await openServer('web-1', 'web-1', openSlow)
    const { query } = one.traces
    one.traces.query = async (name, argument) => {
      if (name === 'forget') await commits.promise
      return query.call(one.traces, name, argument) as never
    }
    one.run('run-1', 'hello')
    const store = await openRecords()
    closings.push(() => store.close())
    const forgotten = one.forget({ runIds: ['run-1'] }).then(() => order.push('forgotten'))
    await commits.promise
    for (let trips = 0; trips < 50; trips++) await one.traces.query('count', {})
    going.resolve()
    await forgotten
    await forgetRuns(store, { tenant: '', user: 'ada', runIds: ['run-1'] })
    expect([order, await store.list({ prefix: 'trace-runs:', limit: 10 })]).to.deep.equal([
      ['published', 'forgotten'],
      [],
    ])
  })

  it('adds no run of another server that was deleted here after it was read', async () => {
    const [pages, going] = [deferred(), deferred()]
    const openSlow = async () => {
      const store = await openRecords()
      const entries = store.entries.bind(store)
      store.entries = async (query) => {
        const page = await entries(query)
        if (query.prefix?.startsWith('trace-runs:') && page.length > 0) {
          pages.resolve()
          await going.promise
        }
        return page
      }
      return store
    }
    const one = await openServer('web-1')
    one.record(echoRun('run-1', 'hello').map((event) => ({ ...event, user: 'ada' })))
    one.end(endOf('run-1', { text: 'hello' }))
    await one.stop()
    const other = await openServer('web-2', 'web-2', openSlow)
    const reading = other.traces.refresh()
    await pages.promise
    const forgotten = other.forget({})
    for (let trips = 0; trips < 50; trips++) await other.traces.query('count', {})
    going.resolve()
    await Promise.all([reading, forgotten])
    expect((await other.traces.query('runs', ALL)).runs).to.deep.equal([])
  })

  it('adds no run of another server that was deleted here, and is published there until it is deleted there, too', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    await other.forget({ runIds: ['run-1'] })
    for (const id of ['run-1', 'run-2']) one.run(id, 'hello')
    await eventually(async () => expect((await other.runs()).map(({ run_id }) => run_id)).to.deep.equal(['run-2']))
  })

  it('keeps the tenants of runs apart on every server', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    for (const tenant of ['', 'acme', 'globex']) {
      const id = `run-${tenant}`
      one.record(echoRun(id, `of ${tenant}`).map((event) => ({ ...event, tenant })))
      one.end(endOf(id, { tenant }))
    }
    await eventually(async () => expect(await other.runs()).to.have.length(3), 5000)
    for (const tenant of ['', 'acme', 'globex']) {
      const { runs } = await other.traces.query('runs', { ...ALL, filter: { tenant } })
      expect(runs.map(({ run_id }) => run_id)).to.deep.equal([`run-${tenant}`])
      expect(await other.traces.query('count', { tenant })).to.equal(1)
      expect((await other.traces.query('run', `run-${tenant}`))?.tenant).to.equal(tenant)
    }
  })

  it('publishes the text that was sent, not the one that an output guard stopped', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    const rail = { id: 'rail', module: 'guard/output', config: { patterns: ['code'], reply: 'Not that.' } }
    const { host, run } = await makeGuarded([rail], [saying('The code is', ' 1234.')])
    host.onEvent((event) => one.record([event]))
    host.onRunEnd((end) => one.end(end))
    await run('What is the code?')
    await host.close(0)
    await eventually(async () => {
      expect(await other.runs()).to.have.length(1)
      expect((await other.runs())[0]).to.include({ server: 'web-1', status: 'completed', output: 'Not that.' })
    }, 5000)
  })

  it('notifies watchers of runs on other servers, and filters find them', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    const heard: string[] = []
    const stop = other.traces.watch((runs) => heard.push(...runs.map(({ run_id, server }) => `${server} ${run_id}`)))
    one.run('run-1', 'hello')
    await eventually(() => expect(heard).to.deep.equal(['web-1 run-1']), 5000)
    stop()
    other.run('run-2', 'hello')
    const { runs } = await other.traces.query('runs', { ...ALL, filter: { server: 'web-2', text: 'hello' } })
    expect(runs.map(({ run_id }) => run_id)).to.deep.equal(['run-2'])
  })

  it('lists a run in progress, and marks it interrupted when its server dies', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.record(echoRun('run-1', 'hello').slice(0, 2))
    const statuses = async () => (await other.runs()).map(({ status }) => status)
    await eventually(async () => expect(await statuses()).to.deep.equal(['running']), 5000)
    await one.stop()
    await eventually(async () => expect(await statuses()).to.deep.equal(['interrupted']), 5000)
    const { events, elsewhere } = await other.read('run-1')
    expect([events, elsewhere]).to.deep.equal([[], `Server 'web-1' has ended. The events are in its folder ./debug.`])
  })

  it('marks no run of a server interrupted that has started again under its name', async () => {
    const first = await openServer('web-1', 'first')
    first.run('run-1', 'hello')
    await first.stop()
    const again = await openServer('web-1', 'again')
    const store = await openRecords()
    closings.push(() => store.close())
    await eventually(async () => expect(await store.list({ prefix: 'trace-server:', limit: 9 })).to.have.length(2))
    const readInterrupted = async () => {
      const interrupted = new Set<string>()
      await new RunFeed(store).readOn({ put() {}, interrupt: (server) => interrupted.add(server), skip() {} })
      return [...interrupted]
    }
    expect(await readInterrupted()).to.deep.equal([])
    await again.stop()
    expect(await readInterrupted()).to.deep.equal(['web-1'])
  })

  it('says so if a server no longer has the events of a run', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.run('run-1', 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(1), 5000)
    await one.traces.query('clear', { agentId: 'echo', tenant: undefined })
    expect((await other.read('run-1')).elsewhere).to.equal(`Server 'web-1' has the events of this run no longer.`)
  })

  it('lists each run of processes that share a folder once, with its events', async () => {
    const [one, other] = [await openServer('web-1', 'debug'), await openServer('web-2', 'debug')]
    one.run('run-1', 'hello')
    const third = await openServer('web-3')
    await eventually(async () => expect(await third.runs()).to.have.length(1), 5000)
    expect(await other.runs()).to.have.length(1)
    expect((await other.read('run-1')).events).to.have.length(5)
  })

  it('publishes the end of each run of a process whose folder another one indexes', async () => {
    await openServer('web-1', 'debug')
    const other = await openServer('web-2', 'debug')
    const third = await openServer('web-3')
    const ids = Array.from({ length: 5 }, (_, number) => `run-${number}`)
    for (const id of ids) other.run(id, 'hello')
    const read = async () => (await third.runs()).map(({ run_id, status }) => `${run_id} ${status}`).sort()
    await eventually(async () => expect(await read()).to.deep.equal(ids.map((id) => `${id} completed`)), 10_000)
  })

  it('skips a damaged or newer entry', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.run('run-1', 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(1), 5000)
    const store = await openRecords()
    closings.push(() => store.close())
    const [key = ''] = await store.list({ prefix: 'trace-runs:', limit: 1 })
    const log = key.slice(0, key.lastIndexOf(':') + 1)
    const texts = [
      '{"at":',
      '{"version":99}',
      '{"version":1,"record":{}}',
      (await store.get([key]))[0]?.replaceAll('run-1', 'run-2'),
    ]
    await store.commit(texts.map((text, index) => [`${log}${String(index + 1).padStart(12, '0')}`, text] as const))
    const skipped: [string, number][] = []
    const found: string[] = []
    const put = (records: readonly { summary: { run_id: string } }[]) =>
      found.push(...records.map(({ summary }) => summary.run_id))
    await new RunFeed(store).readOn({ put, interrupt() {}, skip: (...skip) => skipped.push(skip) })
    expect([found, skipped]).to.deep.equal([['run-1', 'run-2'], [['web-1', 3]]])
  })

  it('answers the questions after one that it cannot answer', async () => {
    const [one, other] = [await openServer('web-1'), await openServer('web-2')]
    one.run('run-1', 'hello')
    await eventually(async () => expect(await other.runs()).to.have.length(1), 5000)
    const store = await openRecords()
    closings.push(() => store.close())
    for (const key of await store.list({ prefix: 'trace-server:', limit: 10 }))
      await store.commit([[`trace-question:${key.slice('trace-server:'.length)}:0`, '{"half":']])
    expect((await other.read('run-1')).events).to.have.length(5)
    await eventually(
      async () => expect(await store.list({ prefix: 'trace-question:', limit: 10 })).to.deep.equal([]),
      5000,
    )
  })

  it('forgets old and damaged answers', async () => {
    const store = await openRecords()
    closings.push(() => store.close())
    const [now, at] = [Date.now(), (time: number) => JSON.stringify({ at: time })]
    const replies = ['{"half":', 'null', '{"at":"x"}', at(now - WEEK_MS), at(now)]
    await store.commit(replies.map((text, index) => [`trace-reply:${index}`, text] as const))
    await forgetOldServers(store, now)
    expect(await store.list({ prefix: 'trace-reply:', limit: 10 })).to.deep.equal(['trace-reply:4'])
  })

  it('keeps the last runs of a stopped server for a week', async () => {
    const one = await openServer('web-1')
    one.run('run-1', 'hello')
    await one.stop()
    const store = await openRecords()
    closings.push(() => store.close())
    const read = async () => {
      const found: string[] = []
      const put = (records: readonly { summary: { run_id: string } }[]) =>
        found.push(...records.map(({ summary }) => summary.run_id))
      await new RunFeed(store).readOn({ put, interrupt() {}, skip() {} })
      return found
    }
    await forgetOldServers(store, Date.now() + WEEK_MS - 60_000)
    expect(await read()).to.deep.equal(['run-1'])
    await forgetOldServers(store, Date.now() + WEEK_MS + 60_000)
    expect(await read()).to.deep.equal([])
    expect(await store.list({ prefix: '', limit: 10 })).to.deep.equal([])
  })
})
