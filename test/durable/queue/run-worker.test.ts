import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { makeTurn } from '../../../src/durable/conversations/conversation-tree.ts'
import { DurableRuns } from '../../../src/durable/durable-runs.ts'
import { QueuePoller } from '../../../src/durable/queue/queue-poller.ts'
import { RunWorker } from '../../../src/durable/queue/run-worker.ts'
import { ServedAgents } from '../../../src/durable/queue/served-agents.ts'
import type { RunFacts } from '../../../src/durable/runs/run-facts.ts'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import { HostError } from '../../../src/errors.ts'
import { CheckedStore } from '../../../src/store/checked-store.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'
import type { RecordStore } from '../../../src/store/record-store.ts'
import { recordSealing } from '../../../src/store/sealing.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { DyingMap } from '../../support/dying-map.ts'
import { eventually } from '../../support/eventually.ts'
import { makeManualHost } from '../../support/manual-host.ts'
import { makeFacts } from '../../support/run-facts.ts'

const CUT_OFF = 'The server restarted before the response was complete'
const SHUTDOWN = new HostError('RUN_ABORTED', 'aborted', {
  cause: new HostError('SHUTTING_DOWN', 'The server shuts down.'),
})

const limits = { maxHistoryItems: 100, maxHistoryMb: 1, maxHistoryTurns: 100 }

describe('a worker of the queue', () => {
  const ids = new RunIds('run_')
  const cleanups: (() => Promise<void>)[] = []
  /** The clock of the agents that servers have. */
  let nowMs = 0

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
  })

  /** A server. One that is opened on the map of another takes that for dead, as after a crash. */
  async function openServer(backend: Map<string, unknown> | RecordStore, { slots = 10, agents = ['agent'] } = {}) {
    const records = new CheckedStore(backend instanceof Map ? await KeyvStore.open(backend) : backend)
    const lines: string[] = []
    const log = (line: string) => lines.push(line)
    const { host, runs: begun } = makeManualHost(slots, agents)
    const runs = await DurableRuns.open({
      records,
      sealing: recordSealing(async () => records),
      ids,
      retentionDays: undefined,
      maxQueuedRuns: 100,
      log: { debug: log, info: log, warn: log, error: log },
      host,
      limits,
    })
    const onFailure = (error: unknown) => lines.push(String(error))
    const served = new ServedAgents(
      runs.queue,
      (agent) => host.has(agent),
      () => nowMs,
    )
    const worker = new QueuePoller(
      runs.queue,
      new RunWorker({ runs, host, served, limits, describeFailure: () => 'failed', onFailure }),
    )
    cleanups.push(async () => {
      await worker.stop()
      for (const run of begun) run.complete()
      await runs.close()
    })
    return { runs, worker, served, begun, lines, records }
  }

  type Server = Awaited<ReturnType<typeof openServer>>

  async function enqueue({ runs }: Pick<Server, 'runs'>, says: string, more: Partial<RunFacts> = {}): Promise<string> {
    const id = ids.next()
    const messages = [{ role: 'user' as const, content: says }]
    const turn = makeTurn(id, 1_800_000_000, messages, undefined)
    const facts = makeFacts({ ...more, options: { shows: ['text'], background: true, ...more.options } })
    const draft = { id, facts, items: [says], makeTurn: () => turn, earlier: [], idempotency: undefined }
    await runs.enqueue({ draft, turn: { messages } })
    return id
  }

  /** A server with one run, begun by its worker. */
  async function beginOne(more: Partial<RunFacts> = {}) {
    const map = new Map<string, unknown>()
    const first = await openServer(map)
    first.worker.start()
    const id = await enqueue(first, 'hi', more)
    await eventually(() => expect(first.begun).to.have.length(1))
    return { map, first, id }
  }

  /** Has a worker look at the queue twice: it takes a run with each look. */
  async function lookTwice(server: Server): Promise<void> {
    for (const says of ['once', 'again']) {
      await enqueue(server, says)
      await eventually(() => expect(server.begun.at(-1)?.asked).to.equal(says))
    }
  }

  const stepsOf = async ({ runs }: Server, id: string) => (await runs.store.get(id))?.steps

  it('runs in order, as many at once as it has slots', async () => {
    const server = await openServer(new Map(), { slots: 2 })
    const queued = [await enqueue(server, 'one'), await enqueue(server, 'two'), await enqueue(server, 'three')]
    expect((await server.runs.store.get(queued[0] as string))?.isQueued).to.equal(true)
    server.worker.start()
    await eventually(() => expect(server.begun.map(({ asked }) => asked)).to.deep.equal(['one', 'two']))
    const states = await Promise.all(queued.map(async (id) => (await server.runs.store.get(id))?.isQueued))
    expect(states).to.deep.equal([false, false, true])
    server.begun[1]?.complete()
    await eventually(() => expect(server.begun.map(({ asked }) => asked)).to.deep.equal(['one', 'two', 'three']))
  })

  it('carries out the runs of all tenants, oldest first, each in its part of the store, also after a crash', async () => {
    const map = new Map<string, unknown>()
    const first = await openServer(map)
    const tenants = ['globex', '', 'acme']
    const ids: string[] = []
    for (const tenant of tenants) ids.push(await enqueue({ runs: first.runs.of(tenant) }, `of ${tenant}`))
    const asked = tenants.map((tenant) => `of ${tenant}`)
    first.worker.start()
    await eventually(() => expect(first.begun.map((run) => run.asked)).to.deep.equal(asked))
    const second = await openServer(map)
    second.worker.start()
    await eventually(() => expect(second.begun.map((run) => run.asked)).to.deep.equal(asked))
    for (const run of second.begun) run.complete()
    for (const [index, tenant] of tenants.entries()) {
      const id = ids[index] as string
      await eventually(async () => {
        expect((await second.runs.of(tenant).store.get(id))?.steps.at(-1)).to.include({ end: 'completed' })
      })
      for (const other of tenants.filter((name) => name !== tenant)) {
        expect(await second.runs.of(other).store.get(id)).to.equal(undefined)
        expect(await second.runs.of(other).delete(id)).to.equal(false)
        expect(await second.runs.of(other).cancel(id)).to.equal(undefined)
      }
    }
    for (const prefix of ['queued:', 'running:']) {
      expect(await second.records.list({ prefix, limit: 9 })).to.deep.equal([])
    }
  })

  it('removes a run from the queue when it ends, or is cancelled or deleted while queued', async () => {
    const map = new Map<string, unknown>()
    const server = await openServer(map)
    const [done, cancelled, deleted] = [
      await enqueue(server, 'a'),
      await enqueue(server, 'b'),
      await enqueue(server, 'c'),
    ]
    expect((await server.runs.cancel(cancelled as string))?.steps.at(-1)).to.include({ end: 'cancelled' })
    expect(await server.runs.delete(deleted as string)).to.equal(true)
    server.worker.start()
    await eventually(() => expect(server.begun).to.have.length(1))
    server.begun[0]?.complete()
    await eventually(async () =>
      expect((await stepsOf(server, done as string))?.at(-1)).to.include({ end: 'completed' }),
    )
    for (const prefix of ['queued:', 'running:', 'job:', 'steps:']) {
      expect(await server.records.list({ prefix, limit: 10 }), prefix).to.deep.equal([])
    }
    expect(server.begun).to.have.length(1)
  })

  it('restarts a run whose server died before any output, up to three times', async () => {
    const { map, id } = await beginOne()
    for (let retry = 0; retry < 3; retry++) {
      const next = await openServer(map)
      expect((await next.runs.store.get(id))?.isQueued).to.equal(true)
      next.worker.start()
      await eventually(() => expect(next.begun).to.have.length(1))
    }
    const last = await openServer(map)
    expect(await stepsOf(last, id)).to.have.length(1)
    expect((await stepsOf(last, id))?.at(-1)).to.include({ end: 'failed', error: CUT_OFF })
  })

  it('does not restart a run with output', async () => {
    const { map, first, id } = await beginOne()
    // Only then does its agent go on, to what it may do next.
    await first.begun[0]?.say('part')
    expect(await stepsOf(first, id)).to.deep.equal(['part'])
    const next = await openServer(map)
    expect((await stepsOf(next, id))?.at(-1)).to.include({ end: 'failed', error: CUT_OFF })
  })

  it('does not restart a run that called a tool, even a hidden one', async () => {
    const { map, first, id } = await beginOne()
    // Only then may the tool be executed.
    await first.begun[0]?.call()
    const call = { id: 'c1', name: 'pay', arguments: {}, moduleId: 'tools' }
    expect(await stepsOf(first, id)).to.deep.equal([{ hidden: { call } }])
    const next = await openServer(map)
    expect((await stepsOf(next, id))?.at(-1)).to.include({ end: 'failed', error: CUT_OFF })
  })

  it('restarts a run marked safe, and returns the text of the last attempt', async () => {
    const { map, first, id } = await beginOne({ options: { isRestartSafe: true } })
    first.begun[0]?.say('part')
    await eventually(async () => expect(await stepsOf(first, id)).to.deep.equal(['part']))
    const next = await openServer(map)
    next.worker.start()
    await eventually(() => expect(next.begun).to.have.length(1))
    next.begun[0]?.say('whole')
    next.begun[0]?.complete()
    await eventually(async () => expect(await stepsOf(next, id)).to.have.length(4))
    expect((await stepsOf(next, id))?.slice(0, 3)).to.deep.equal(['part', { restart: 2 }, 'whole'])
    const said = (await next.runs.store.conversation(id))?.messages.map(({ content }) => content)
    expect(said).to.deep.equal(['hi', 'whole'])
  })

  it('stops a run that was reassigned, and writes nothing of it', async () => {
    const { map, first, id } = await beginOne()
    const next = await openServer(map)
    next.worker.start()
    await eventually(() => expect(next.begun).to.have.length(1))
    first.begun[0]?.say('too late')
    await eventually(() => expect(first.begun[0]?.isAborted).to.equal(true))
    next.begun[0]?.say('in time')
    next.begun[0]?.complete()
    await eventually(async () => expect((await stepsOf(next, id))?.[0]).to.equal('in time'))
    first.begun[0]?.complete()
    await wait(50)
    expect((await stepsOf(next, id))?.slice(0, 1)).to.deep.equal(['in time'])
  })

  it('keeps readers of a run connected while it moves to another server', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'agent-host-test-')), 'store.db')
    const first = await openServer(await SqliteStore.open(file))
    first.worker.start()
    const id = await enqueue(first, 'hi')
    await eventually(() => expect(first.begun).to.have.length(1))
    const stored = await first.runs.store.get(id)
    const log = first.runs.read(stored as NonNullable<typeof stored>, new AbortController().signal)
    const reading = log.read(0)
    await first.worker.stop()
    const next = await openServer(takingForDead(first.records.serverId, await SqliteStore.open(file)))
    next.worker.start()
    await eventually(() => expect(next.begun).to.have.length(1))
    first.begun[0]?.say('too late')
    await eventually(() => expect(first.begun[0]?.isAborted).to.equal(true))
    next.begun[0]?.say('in time')
    expect(await reading).to.deep.equal(['in time'])
  })

  it('returns unfinished runs without output to the queue, without counting an attempt', async () => {
    const { first, id } = await beginOne()
    await first.worker.stop()
    first.begun[0]?.fail(SHUTDOWN)
    await eventually(async () => expect((await first.runs.store.get(id))?.isQueued).to.equal(true))
    expect((await first.runs.queue.waiting(1))[0]).to.include({ id, attempts: 0 })
  })

  it('fails runs with output when the server stops', async () => {
    const { first, id } = await beginOne()
    await first.worker.stop()
    first.begun[0]?.say('part')
    await eventually(async () => expect(await stepsOf(first, id)).to.deep.equal(['part']))
    first.begun[0]?.fail(SHUTDOWN)
    const error = 'The server shut down before the response was complete'
    await eventually(async () => expect((await stepsOf(first, id))?.at(-1)).to.include({ end: 'failed', error }))
  })

  it('skips runs of agents that it does not have', async () => {
    const map = new Map<string, unknown>()
    const server = await openServer(map, { slots: 1, agents: ['agent'] })
    for (let n = 0; n < 30; n++) await enqueue(server, 'not here', { agent: 'other' })
    await enqueue(server, 'here')
    server.worker.start()
    await eventually(() => expect(server.begun.map(({ asked }) => asked)).to.deep.equal(['here']))
  })

  it('leaves a run to the servers that have its agent, however long it waits, and fails it once none has had it for ten minutes', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'agent-host-test-')), 'store.db')
    const [busy, lacking] = [
      await openServer(await SqliteStore.open(file), { slots: 0, agents: ['other'] }),
      await openServer(await SqliteStore.open(file)),
    ]
    const id = await enqueue(busy, 'hi', { agent: 'other' })
    const old = { agent: 'other', attempts: 0, sinceMs: Date.now() - 60 * 60 * 1000 }
    await busy.records.commit([[`queued:${id}`, JSON.stringify(old)]])
    for (const { worker } of [busy, lacking]) worker.start()
    const pass = async (minutes: number) => {
      nowMs += minutes * 60_000
      await lookTwice(lacking)
      return (await stepsOf(lacking, id))?.length
    }
    for (let look = 0; look < 8; look++) {
      nowMs += 2 * 60_000
      await busy.served.look()
      await lacking.served.look()
    }
    expect(await pass(9)).to.equal(0)
    await lacking.served.look()
    await pass(1)
    await eventually(async () => expect(await stepsOf(lacking, id)).to.have.length(1))
    expect((await stepsOf(busy, id))?.at(-1)).to.include({ end: 'failed' })
    await busy.served.look()
    expect(await busy.records.list({ prefix: 'served-agent:', limit: 9 })).to.deep.equal([])
  })

  it('fails runs of which a record is damaged, and goes on with the others', async () => {
    const server = await openServer(new Map())
    const ids = new Map<string, string>()
    for (const prefix of ['queued:', 'turn:']) ids.set(prefix, await enqueue(server, prefix))
    await enqueue(server, 'whole')
    await server.records.commit([...ids].map(([prefix, id]) => [prefix + id, '{"half'] as const))
    server.worker.start()
    await eventually(() => expect(server.begun.map(({ asked }) => asked)).to.deep.equal(['whole']))
    for (const [prefix, id] of ids) {
      await eventually(async () => expect((await stepsOf(server, id))?.at(-1), prefix).to.include({ end: 'failed' }))
    }
    for (const id of ids.values()) expect(await server.records.get([`queued:${id}`])).to.deep.equal([undefined])
    expect(server.lines).to.have.members(
      [...ids.values()].map((id) => `HostError: The stored response '${id}' is damaged.`),
    )
  })

  it('leaves a run to other servers whose agent goes while it is read, and reports it', async () => {
    const store = await KeyvStore.open(new Map())
    const agents = ['agent']
    const get = store.get.bind(store)
    let isLeaving = false
    store.get = async (keys) => {
      if (isLeaving && keys.some((key) => key.startsWith('response:'))) agents.length = 0
      return get(keys)
    }
    const server = await openServer(store, { agents })
    const id = await enqueue(server, 'hi')
    isLeaving = true
    server.worker.start()
    await eventually(() => expect(server.lines).to.deep.equal(["HostError: There is no agent 'agent'."]))
    expect([(await server.runs.store.get(id))?.isQueued, server.begun]).to.deep.equal([true, []])
  })

  it('fails a run whose server died when its turn is damaged', async () => {
    const { map, first, id } = await beginOne()
    await first.records.commit([[`turn:${id}`, '{"half']])
    const second = await openServer(map)
    second.worker.start()
    await eventually(async () => expect((await stepsOf(second, id))?.at(-1)).to.include({ end: 'failed' }))
    expect(second.begun).to.deep.equal([])
  })

  it('skips runs of a newer version, and reports them once', async () => {
    const server = await openServer(new Map())
    const id = await enqueue(server, 'newer')
    await server.records.commit([[`turn:${id}`, JSON.stringify({ version: 99 })]])
    server.worker.start()
    await enqueue(server, 'readable')
    await eventually(() => expect(server.begun.map(({ asked }) => asked)).to.deep.equal(['readable']))
    await lookTwice(server)
    expect((await server.runs.store.get(id))?.isQueued).to.equal(true)
    expect(server.lines.filter((line) => line.includes('newer version'))).to.have.length(1)
  })

  it('counts only runs that still wait', async () => {
    const server = await openServer(new Map(), { slots: 200 })
    server.worker.start()
    for (let n = 0; n <= 100; n++) await enqueue(server, 'x')
    await eventually(() => expect(server.begun).to.have.length(101))
  })

  it('does not count a run as cut off that it claims and ends while maintenance lists those in progress', async () => {
    const store = await KeyvStore.open(new Map())
    let server: Server | undefined
    const [begins, ended] = [deferred(), deferred()]
    // The run is about to be claimed until the list begins, and has ended when the list is there.
    const get: RecordStore['get'] = async (keys) => {
      if (keys.some((key) => key.startsWith('job:'))) await begins.promise
      return store.get(keys)
    }
    const entries: RecordStore['entries'] = async (query) => {
      if (query.prefix !== 'running:' || !server) return store.entries(query)
      begins.resolve()
      await eventually(() => expect(server?.begun).to.have.length(1))
      const running = await store.entries(query)
      server.begun[0]?.complete()
      await eventually(() => expect(server?.runs.running.size).to.equal(0))
      ended.resolve()
      return running
    }
    const override = { get, entries }
    const records = new Proxy<RecordStore>(store, {
      get(target, name) {
        if (Object.hasOwn(override, name)) return Reflect.get(override, name)
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    server = await openServer(records)
    await enqueue(server, 'hi')
    server.worker.start()
    await ended.promise
    await wait(100)
    expect(server.lines).to.have.members([])
  })

  it('rejects runs above the limit', async () => {
    const server = await openServer(new Map())
    for (let n = 0; n < 100; n++) await enqueue(server, 'x')
    const failure = await enqueue(server, 'x').catch((error: HostError) => error)
    expect(failure).to.include({ code: 'OVERLOADED', message: 'The queue of background runs is full (limit: 100).' })
  })

  it('loses no run, wherever a store without transactions is interrupted', async () => {
    for (let writes = 0, isThrough = false; !isThrough; writes++) {
      const map = new DyingMap(writes)
      let id: string | undefined
      const live = async () => {
        const server = await openServer(map)
        server.worker.start()
        id = await enqueue(server, 'hi')
        await eventually(() => expect(server.begun).to.have.length(1), 150)
        server.begun[0]?.complete()
        await eventually(
          async () => expect((await stepsOf(server, id as string))?.at(-1)).to.include({ end: 'completed' }),
          150,
        )
      }
      isThrough = await live().then(
        () => true,
        () => false,
      )
      const later = await openServer(new Map(map))
      later.worker.start()
      if (id === undefined) continue
      const acknowledged = id
      await eventually(async () => {
        for (const run of later.begun) run.complete()
        expect((await stepsOf(later, acknowledged))?.at(-1), `${writes}`).to.include({ end: 'completed' })
      })
    }
  })
})

/** Store that takes one server for dead, as if it was paused for long. */
function takingForDead(server: string, store: RecordStore): RecordStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'isServerAlive') return async (id: string) => id !== server && store.isServerAlive(id)
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
