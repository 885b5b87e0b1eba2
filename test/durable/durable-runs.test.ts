import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { deferred, settlesWithin } from '../../src/async.ts'
import { approvalId, openApprovals } from '../../src/durable/approvals/approvals.ts'
import { makeTurn, type StoredTurn } from '../../src/durable/conversations/conversation-tree.ts'
import { resume, takeDecisions } from '../../src/durable/decisions/resumption.ts'
import { DurableRuns, type DurableRunsOptions } from '../../src/durable/durable-runs.ts'
import { forgetStored } from '../../src/durable/forget/forget-stored.ts'
import type { IdempotentRequest } from '../../src/durable/idempotency/idempotent-requests.ts'
import { claimContinued, readContinued } from '../../src/durable/runs/continued-mark.ts'
import type { DurableRun } from '../../src/durable/runs/durable-run.ts'
import { listRunning } from '../../src/durable/runs/list-running.ts'
import { RunIds } from '../../src/durable/runs/run-ids.ts'
import { type EndStep, isEnd } from '../../src/durable/runs/steps.ts'
import type { Webhook } from '../../src/durable/webhooks/webhook.ts'
import { HostError } from '../../src/errors.ts'
import { CheckedStore } from '../../src/store/checked-store.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import { UserForgotten } from '../../src/store/record-storage.ts'
import type { Change, RecordStore } from '../../src/store/record-store.ts'
import { recordSealing } from '../../src/store/sealing.ts'
import { DyingMap } from '../support/dying-map.ts'
import { eventually } from '../support/eventually.ts'
import { makeManualHost } from '../support/manual-host.ts'
import { makeFacts } from '../support/run-facts.ts'

describe('durable runs', () => {
  const ids = new RunIds('run_')
  const open: DurableRuns[] = []
  const lines: string[] = []
  const hosts: ReturnType<typeof makeManualHost>[] = []

  afterEach(async () => {
    lines.length = 0
    for (const { runs } of hosts.splice(0)) for (const run of runs) run.complete()
    for (const runs of open.splice(0)) await runs.close()
  })

  async function openRuns(
    records: RecordStore,
    more: Partial<Pick<DurableRunsOptions, 'retentionDays' | 'webhooks'>> = {},
    persistsSteps = true,
  ) {
    const log = (line: string) => lines.push(line)
    const manualHost = makeManualHost()
    hosts.push(manualHost)
    const { host, runs: manual } = manualHost
    const runs = await DurableRuns.open({
      records,
      sealing: recordSealing(async () => records),
      ids,
      retentionDays: undefined,
      ...more,
      maxQueuedRuns: 100,
      log: { debug: log, info: log, warn: log, error: log },
      host,
      limits: { maxHistoryItems: 100, maxHistoryMb: 1, maxHistoryTurns: 100 },
    })
    open.push(runs)
    const start = ({ previous, idempotency, user }: StartOptions = {}): Promise<DurableRun> => {
      const id = ids.next()
      const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], previous)
      const facts = makeFacts({ options: { shows: ['text'], ...(user && { user }) } })
      const draft = { id, facts, items: Array(60).fill('hi'), makeTurn: () => turn, earlier: [], idempotency }
      const kept = { store: runs.store, persistsSteps, describeFailure: () => 'failed' }
      return runs.start({ draft, turn: { messages: [] } }, kept)
    }
    return { runs, start, manual }
  }

  const openMap = async (map = new Map<string, unknown>()) => new CheckedStore(await KeyvStore.open(map))

  it('stay whole if their end is seen in the store before the write returns', async () => {
    const store = await openMap()
    const looked = deferred()
    let isGone = false
    const commit: RecordStore['commit'] = async (changes, guards, notify) => {
      const isMark = ([key]: Change) => key.startsWith('running:')
      const isFinish = changes.some((change) => isMark(change) && change[1] === undefined)
      if (!isFinish) return store.commit(changes, guards, notify)
      // Reads see the mark go, and the end only later.
      await store.commit(changes.filter(isMark), guards)
      isGone = true
      await looked.promise
      return store.commit(changes, {}, notify)
    }
    const get: RecordStore['get'] = async (keys) => {
      const isLook = isGone && keys.some((key) => key.startsWith('running:'))
      const values = await store.get(keys)
      if (isLook) looked.resolve()
      return values
    }
    const { start, manual } = await openRuns(overriding(store, { commit, get }))
    const run = await start()
    await run.stored
    manual[0]?.say('one ')
    manual[0]?.say('two ')
    manual[0]?.complete()
    const steps = await run.settled
    expect(steps.slice(0, -1)).to.deep.equal(['one ', 'two '])
    expect((steps.at(-1) as EndStep).end).to.equal('completed')
  })

  it('end as failed if their first write arrives after its timeout', async () => {
    const store = await openMap()
    let isLate = false
    const { runs, start } = await openRuns(
      overriding(store, {
        commit: async (changes, guards, notify) => {
          if (!isLate) return store.commit(changes, guards, notify)
          isLate = false
          setTimeout(() => void store.commit(changes, guards, notify), 1500)
          throw new HostError('STORE_UNAVAILABLE', 'The store of responses failed: no answer within 5 s')
        },
      }),
    )
    isLate = true
    const run = await start()
    expect(await run.settled.catch((error: HostError) => error.code)).to.equal('STORE_UNAVAILABLE')
    await eventually(async () => expect(await runs.store.has(run.id)).to.equal(true), 5000)
    await eventually(async () => {
      const end = (await runs.store.get(run.id))?.steps.at(-1)
      expect(isEnd(end) && [end.end, end.error]).to.deep.equal(['failed', 'The response could not be stored'])
    }, 15_000)
  })

  it('take their approvals with them when they are removed', async () => {
    const store = await openMap()
    const { runs } = await openRuns(store)
    const id = ids.next()
    const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
    const pending = [{ callId: 'c1', kind: 'approval', name: 'pay', arguments: {}, ttlSeconds: 60 }] as const
    const waiting = openApprovals({ runId: id, agent: 'agent', pending, createdAt: 1_800_000_000 })
    const draft = { id, facts: makeFacts(), items: [], makeTurn: () => turn, earlier: [], idempotency: undefined }
    const steps = [{ pending: pending[0] }, { end: 'completed', at: 1_800_000_000 }] as const
    await runs.store.create(draft, steps, { messages: [], pending, waiting })
    expect(await runs.approvals.ofRun(id)).to.have.lengthOf(1)
    expect(await runs.store.delete(id)).to.equal(true)
    const keys = await Promise.all(
      ['approval:', 'open-approval:', 'expiring-approval:'].map((prefix) => store.list({ prefix, limit: 9 })),
    )
    expect(keys).to.deep.equal([[], [], []])
  })

  it('leave nothing of what was said where their deletion ends after its first write', async () => {
    const store = await openMap()
    let writes = Infinity
    const commit: RecordStore['commit'] = (...change) =>
      writes-- > 0 ? store.commit(...change) : Promise.reject(new HostError('STORE_UNAVAILABLE', 'It is away.'))
    const { runs, start, manual } = await openRuns(overriding(store, { commit }))
    const run = await start()
    manual[0]?.say('one ')
    manual[0]?.complete()
    await run.settled
    writes = 1
    await runs.store.delete(run.id).catch(() => {})
    writes = Infinity
    expect((await store.list({ prefix: '', limit: 9 })).filter((key) => key.includes(run.id))).to.deep.equal([])
  })

  it('leave nothing where another server deletes them while they go on', async () => {
    const store = await openMap()
    const { start, manual } = await openRuns(store)
    const run = await start()
    await run.stored
    let beforeDeletion = async () => {}
    const other = await openRuns(
      overriding(store, {
        serverId: 'other',
        isServerAlive: async () => true,
        commit: async (changes, guards, notify) => {
          const isDeletion = changes.some(([key, value]) => key === `response:${run.id}` && value === undefined)
          if (isDeletion) await beforeDeletion()
          return store.commit(changes, guards, notify)
        },
      }),
    )
    beforeDeletion = async () => {
      manual[0]?.say('one ')
      await Promise.race([run.read(0), run.settled])
    }
    expect(await other.runs.delete(run.id)).to.equal(true)
    manual[0]?.complete()
    await run.settled
    expect((await store.list({ prefix: '', limit: 9 })).filter((key) => key.includes(run.id))).to.deep.equal([])
  })

  it('are not stored late once their user is forgotten', async () => {
    const store = await openMap()
    const { runs, start, manual } = await openRuns(store, {}, false)
    const run = await start()
    const cause = new UserForgotten('The data of its user is deleted.')
    manual[0]?.fail(new HostError('RUN_ABORTED', 'The run was aborted.', { cause }))
    await run.settled
    expect(await runs.store.has(run.id)).to.equal(false)
  })

  it('leave nothing where their first write is under way while their user is forgotten', async () => {
    const store = await openMap()
    const [begun, goOn] = [deferred(), deferred()]
    const commit: RecordStore['commit'] = async (changes, guards, notify) => {
      if (changes.some(([key, value]) => key.startsWith('response:') && value?.includes('"ada"'))) {
        begun.resolve()
        await goOn.promise
      }
      return store.commit(changes, guards, notify)
    }
    const { runs, start, manual } = await openRuns(overriding(store, { commit }))
    const run = await start({ user: 'ada' })
    await begun.promise
    const forgetting = forgetStored(runs, store, 'ada')
    await Promise.race([forgetting, eventually(() => expect(manual[0]?.isAborted).to.equal(true))])
    goOn.resolve()
    await forgetting
    manual[0]?.complete()
    await run.settled
    expect((await store.list({ prefix: '', limit: 9 })).filter((key) => key.includes(run.id))).to.deep.equal([])
  })

  it('wait for nothing once they are cancelled, whatever is decided or begins to wait at that moment', async () => {
    const store = await openMap()
    let beforeCancel: (() => Promise<unknown>) | undefined
    const { runs } = await openRuns(
      overriding(store, {
        commit: async (changes, guards, notify) => {
          const isCancel = changes.some(([, value]) => value?.includes('cancelled'))
          const before = isCancel ? beforeCancel : undefined
          if (isCancel) beforeCancel = undefined
          await before?.()
          return store.commit(changes, guards, notify)
        },
      }),
    )
    const pending = ['c1', 'c2'].map((callId) => ({ callId, kind: 'approval', name: 'pay', arguments: {} }) as const)
    const end = { end: 'completed', at: 1_800_000_000 } as const
    const begin = async () => {
      const id = ids.next()
      const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
      const draft = { id, facts: makeFacts(), items: [], makeTurn: () => turn, earlier: [], idempotency: undefined }
      const owned = await runs.store.create(draft, [])
      if (!owned) return expect.fail()
      const outcome = {
        messages: [],
        pending,
        waiting: openApprovals({ runId: id, agent: 'agent', pending, createdAt: 0 }),
      }
      const wait = () =>
        runs.store.finish(owned, { steps: [...pending.map((call) => ({ pending: call })), end], outcome })
      return { id, wait }
    }
    const cancel = async (id: string, before: () => Promise<unknown>) => {
      beforeCancel = before
      await runs.cancel(id)
      expect((await runs.store.get(id))?.steps.at(-1)).to.include({ end: 'cancelled' })
      return (await runs.approvals.ofRun(id)).map(({ status }) => status)
    }
    const begun = await begin()
    expect(await cancel(begun.id, begun.wait)).to.deep.equal(['cancelled', 'cancelled'])
    const waiting = await begin()
    await waiting.wait()
    const decision = new Map([[approvalId(waiting.id, 0), { kind: 'approval', decision: 'approve' } as const]])
    const decide = () => runs.deciding.decide(decision, 'ann')
    expect(await cancel(waiting.id, decide)).to.deep.equal(['approved', 'cancelled'])
  })

  it('that are not stored give back what they took when their server dies before a call has begun', async () => {
    const map = new Map<string, unknown>()
    const { runs } = await openRuns(await openMap(map))
    const id = ids.next()
    const pending = { callId: 'c1', kind: 'approval', name: 'pay', arguments: {} } as const
    const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
    const draft = { id, facts: makeFacts(), items: [], makeTurn: () => turn, earlier: [], idempotency: undefined }
    const outcome = {
      messages: [],
      pending: [pending],
      waiting: openApprovals({ runId: id, agent: 'agent', pending: [pending], createdAt: 0 }),
    }
    await runs.store.create(draft, [{ pending }, { end: 'completed', at: 1_800_000_000 }], outcome)
    const take = async () => {
      const before = await runs.approvals.ofRun(id)
      const decision = new Map([[approvalId(id, 0), { kind: 'approval', decision: 'approve' } as const]])
      const next = ids.next()
      const { claim, resumes } = resume(before, takeDecisions(before, decision, 'ann'), next)
      return runs.store.take(next, claim, resumes)
    }
    const statusAfterCrash = async () => {
      const later = await openRuns(await openMap(map))
      const [approval] = await later.runs.approvals.ofRun(id)
      return [approval?.status, approval?.continuedBy === null, (await listRunning(await openMap(map))).length]
    }
    await take()
    expect(await statusAfterCrash()).to.deep.equal(['pending', true, 0])
    const again = await take()
    await again?.spend()
    expect(await statusAfterCrash()).to.deep.equal(['approved', false, 0])
  })

  it('that are not stored claim a run that waits for its client once, and give it back', async () => {
    const map = new Map<string, unknown>()
    const { runs } = await openRuns(await openMap(map))
    const waiting = ids.next()
    const take = (id: string) => runs.store.take(id, claimContinued(waiting, id), { runId: waiting, approvals: [] })
    const [first, second, third] = [ids.next(), ids.next(), ids.next()]
    const taken = await take(first)
    expect([taken === undefined, await take(second)]).to.deep.equal([false, undefined])
    await taken?.giveBack()
    expect(await take(third)).to.not.equal(undefined)
    await openRuns(await openMap(map))
    expect(await readContinued(await openMap(map), waiting)).to.equal(undefined)
    expect(await listRunning(await openMap(map))).to.deep.equal([])
    await take(first)
    await (await openMap(map)).commit([[`continued:${waiting}`, undefined]])
    await openRuns(await openMap(map))
    expect(await listRunning(await openMap(map))).to.deep.equal([])
  })

  it('that are cancelled twice at once, after their end, tell webhooks once', async () => {
    const store = await openMap()
    const both = deferred()
    let cancelling = 0
    const commit: RecordStore['commit'] = async (changes, guards, notify) => {
      if (changes.some(([key, value]) => key.startsWith('response:') && value?.includes('cancelled'))) {
        if (++cancelling === 2) both.resolve()
        if (cancelling <= 2) await both.promise
      }
      return store.commit(changes, guards, notify)
    }
    // One server makes its own one after the other.
    const open = () => openRuns(overriding(store, { commit }), { webhooks: { all: [CANCELLED_HOOK] } })
    const [{ runs, start, manual }, other] = [await open(), await open()]
    const run = await start()
    manual[0]?.complete()
    await run.settled
    const cancelled = await Promise.all([runs, other.runs].map(({ store }) => store.cancel(run.id)))
    const ends = cancelled.map((stored) => stored?.steps.map((step) => isEnd(step) && step.end))
    expect(ends).to.deep.equal([
      ['completed', 'cancelled'],
      ['completed', 'cancelled'],
    ])
    expect(await store.list({ prefix: 'delivery:', limit: 9 })).to.have.lengthOf(1)
  })

  it('that others change all the time are in conflict: the store itself works', async () => {
    const store = await openMap()
    let isBusy = false
    const isEnding = ([key, value]: Change) => key.startsWith('response:') && value?.includes('cancelled')
    const { runs, start, manual } = await openRuns(
      overriding(store, {
        commit: async (changes, guards, notify) =>
          isBusy && changes.some(isEnding) ? false : store.commit(changes, guards, notify),
      }),
    )
    const [going, ended] = [await start(), await start()]
    await going.stored
    manual[1]?.complete()
    await ended.settled
    isBusy = true
    for (const { id } of [going, ended]) {
      const refused = await runs.store.cancel(id).catch((error: HostError) => [error.code, error.message])
      expect(refused).to.deep.equal(['RESPONSE_CONFLICT', `The run '${id}' changes all the time`])
    }
    isBusy = false
  })

  it('are cancelled although a part of their steps is damaged: as if a call had begun in it', async () => {
    const store = await openMap()
    const { runs, start, manual } = await openRuns(store)
    const run = await start()
    await run.stored
    for (const word of ['one ', 'two ']) {
      void manual[0]?.say(word)
      await run.read(word === 'one ' ? 0 : 1)
    }
    const [first = ''] = await store.list({ prefix: `steps:${run.id}:`, limit: 1 })
    await store.commit([[first, '"damaged']])
    expect(await runs.store.get(run.id).catch((error: HostError) => error.code)).to.equal('RECORD_UNREADABLE')
    const cancelled = await runs.store.cancel(run.id)
    expect(cancelled?.steps).to.deep.include({ hidden: null }).and.include('two ')
    expect(cancelled?.steps.at(-1)).to.include({ end: 'cancelled' })
    expect(await store.list({ prefix: `steps:${run.id}:`, limit: 9 })).to.deep.equal([])
  })

  it('settle as cancelled when the row with their outcome cannot be read', async () => {
    const store = await openMap()
    for (const row of ['"damaged', '{"version":999}']) {
      const { start } = await openRuns(store)
      const run = await start()
      await run.stored
      await store.commit([
        [`response:${run.id}`, row],
        [`running:${run.id}`, undefined],
      ])
      await run.adoptStoredOutcome()
      expect((await run.settled).at(-1)).to.include({ end: 'cancelled' })
    }
  })

  it('that are abandoned leave nothing, and no reader that waits', async () => {
    const store = await openMap()
    const { runs, start } = await openRuns(store)
    for (const isStored of [true, false]) {
      const run = await start()
      if (isStored) await run.stored
      const read = run.read(0)
      await runs.abandon(run)
      expect(await Promise.race([read, wait(2000, 'hangs')])).to.deep.equal([])
    }
    await wait(20)
    expect(await runs.store.list({ limit: 9 })).to.deep.equal([])
  })

  it('end after a crash, whatever else is unreadable', async () => {
    const map = new Map<string, unknown>()
    const store = await openMap(map)
    const { start } = await openRuns(store)
    const [damaged, halved, cutOff] = [await start(), await start(), await start()]
    await Promise.all([damaged, halved, cutOff].map(({ stored }) => stored))
    await store.commit([
      [`response:${damaged.id}`, '"damaged'],
      [`response:${halved.id}`, undefined],
      ['running:run_unreadable', '"damaged'],
    ])
    const later = await openRuns(await openMap(map))
    const end = (await later.runs.store.get(cutOff.id))?.steps.at(-1) as EndStep
    expect(end.error).to.equal('The server restarted before the response was complete')
    expect((await listRunning(store)).map(({ id }) => id)).to.deep.equal([damaged.id])
    expect(lines.filter((line) => line.includes('damaged'))).to.have.length(1)
  })

  it('are removed after the retention period, for every tenant', async () => {
    const store = await openMap()
    const first = await openRuns(store)
    const oldMs = Date.now() - 2 * 24 * 60 * 60 * 1000
    const tenants = ['', 'acme', 'globex']
    const oldIds = new RunIds('run_')
    const stored = await Promise.all(
      tenants.map(async (tenant) => {
        const [old, young] = [oldIds.next(oldMs), ids.next()]
        for (const id of [old, young]) {
          const turn = makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
          const draft = {
            id,
            facts: makeFacts(),
            items: ['hi'],
            makeTurn: () => turn,
            earlier: [],
            idempotency: undefined,
          }
          await first.runs.of(tenant).store.create(draft, [{ end: 'completed', at: 1_800_000_000 }])
        }
        return { tenant, old, young }
      }),
    )
    const { runs } = await openRuns(store, { retentionDays: 1 })
    for (const { tenant, old, young } of stored) {
      await eventually(async () => expect(await runs.of(tenant).store.has(old)).to.equal(false))
      expect(await runs.of(tenant).store.has(young)).to.equal(true)
    }
  })

  it('are removed while deliveries to webhooks cannot be read', async () => {
    const store = await openMap()
    const first = await openRuns(store)
    const oldMs = Date.now() - 2 * 24 * 60 * 60 * 1000
    const id = new RunIds('run_').next(oldMs)
    const draft = { id, facts: makeFacts(), items: ['hi'], earlier: [], idempotency: undefined }
    const makeOwnTurn = () => makeTurn(id, 1_800_000_000, [{ role: 'user', content: 'hi' }], undefined)
    await first.runs.store.create({ ...draft, makeTurn: makeOwnTurn }, [{ end: 'completed', at: 1_800_000_000 }])
    const damaged = `${id}:1:hook`
    const newer = `${id}:2:hook`
    const { version = 0, ...row } = JSON.parse((await store.get([`response:${id}`]))[0] ?? '')
    expect(row).to.not.equal(undefined)
    const lost = { version, id: 'evt_1', type: 'response.failed', hook: 'hook', dueMs: oldMs }
    const dueKey = (key: string) => `delivery-due:hook:${String(oldMs).padStart(15, '0')}:${key}`
    await store.commit([
      [dueKey(damaged), '1'],
      [`delivery:${damaged}`, '{"half'],
      [dueKey(newer), '1'],
      [`delivery:${newer}`, JSON.stringify({ ...lost, version: 99 })],
      [dueKey(`${id}:3:hook`), '1'],
      [`delivery:${id}:3:hook`, JSON.stringify(lost)],
    ])
    await openRuns(store, { retentionDays: 1 })
    await eventually(async () => expect(await first.runs.store.has(id)).to.equal(false))
    const left = await store.entries({ prefix: 'delivery:', limit: 10 })
    expect(left.map(([key]) => key)).to.deep.equal([`delivery:${newer}`, `delivery:${id}:3:hook`])
    expect(JSON.parse(left[1]?.[1] ?? '')).to.include({ isDead: true })
    expect(lines.filter((line) => line.includes('delivery:'))).to.have.length(2)
  })

  it('are recovered while old ones are removed, and the store stays open until that has ended', async () => {
    const store = await openMap()
    const [sweeps, goOn] = [deferred(), deferred()]
    let looks = 0
    let isClosed = false
    const list: RecordStore['list'] = async (range) => {
      if (range.prefix === 'expires:') {
        sweeps.resolve()
        await goOn.promise
        if (isClosed) lines.push('It was closed before.')
      }
      return store.list(range)
    }
    const entries: RecordStore['entries'] = async (range) => {
      if (range.prefix === 'running:') looks++
      return store.entries(range)
    }
    const close = async () => {
      isClosed = true
    }
    const { runs } = await openRuns(overriding(store, { list, entries, close }))
    await sweeps.promise
    const before = looks
    await eventually(() => expect(looks).to.be.above(before + 1))
    const closing = runs.close()
    expect(await settlesWithin(closing, 100)).to.equal(false)
    goOn.resolve()
    await closing
    expect([isClosed, lines]).to.deep.equal([true, []])
  })

  it('end on another server with all acknowledged steps', async () => {
    const map = new Map<string, unknown>()
    const store = await openMap(map)
    let beforeFinish = async () => {}
    const { runs, start, manual } = await openRuns(
      overriding(store, {
        commit: async (changes, guards, notify) => {
          const isFinish = changes.some(([key, value]) => key.startsWith('running:') && value === undefined)
          const wait = beforeFinish
          if (isFinish) beforeFinish = async () => {}
          if (isFinish) await wait()
          return store.commit(changes, guards, notify)
        },
      }),
    )
    const run = await start()
    await run.stored
    manual[0]?.say('one ')
    await run.read(0)
    beforeFinish = async () => {
      manual[0]?.say('two ')
      await run.read(1)
    }
    const ended = await runs.store.end(run.id, { end: 'cancelled', at: 1_800_000_001 })
    expect(ended?.steps.slice(0, -1)).to.deep.equal(['one ', 'two '])
  })

  it('are whole or absent, at whichever write a store without transactions fails', async () => {
    for (let writes = 0, isThrough = false; !isThrough; writes++) {
      const map = new DyingMap(writes)
      isThrough = await live(map).then(
        () => true,
        () => false,
      )
      await checkWhole(new Map(map), writes)
    }
  })

  /** Stores a conversation of two runs with a key each, and deletes a third. */
  async function live(map: Map<string, unknown>): Promise<void> {
    const { runs, start, manual } = await openRuns(await openMap(map))
    const create = async (key: string, previous?: StoredTurn): Promise<string> => {
      const replay = async () => undefined
      const run = await runs.requests.once(key, BODY, replay, async (idempotency) => start({ previous, idempotency }))
      await run.stored
      manual.at(-1)?.say('word ')
      await run.read(0)
      manual.at(-1)?.complete()
      await run.settled
      return run.id
    }
    const first = await create('first')
    await create('second', (await runs.store.conversation(first))?.last)
    await runs.delete(await create('third'))
  }

  async function checkWhole(map: Map<string, unknown>, writes: number): Promise<void> {
    const { runs, start } = await openRuns(await openMap(map))
    for (const id of await runs.store.list({ limit: 100 })) {
      const stored = await runs.store.get(id)
      // Listed and not there: it was not written any more, or is deleted.
      if (!stored) continue
      const end = stored.steps.at(-1)
      expect(isEnd(end), `${writes}: has ended`).to.equal(true)
      expect(await runs.store.items(stored, 0, 60), `${writes}: items`).to.have.length(60)
      const said = (await runs.store.conversation(id))?.messages.map(({ content }) => content)
      expect(said?.[0], `${writes}: conversation`).to.equal('hi')
      if ((end as EndStep).end === 'completed') expect(said?.at(-1), `${writes}: answer`).to.equal('word ')
    }
    for (const key of ['first', 'second', 'third']) {
      const replay = async (id: string) => ((await runs.store.has(id)) ? 'replayed' : undefined)
      const again = runs.requests.once(key, BODY, replay, async (idempotency) => {
        const run = await start({ idempotency })
        await run.stored
        return 'ran'
      })
      expect(await Promise.race([again, wait(1000, 'hangs')]), `${writes}: ${key} again`).to.not.equal('hangs')
    }
  }
})

interface StartOptions {
  readonly previous?: StoredTurn | undefined
  readonly idempotency?: IdempotentRequest | undefined
  readonly user?: string
}

const CANCELLED_HOOK: Webhook = {
  id: 'hook',
  shown: 'hook',
  url: new URL('http://127.0.0.1:9/'),
  events: new Set(['response.cancelled'] as const),
  agents: undefined,
  tenants: [''],
  secrets: [],
}
const BODY = { input: 'hi' }

function overriding(store: RecordStore, changed: Partial<RecordStore>): RecordStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(changed, name) ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
