import { AgentHost, defineModule, LLM } from 'agent-host'
import { expect } from 'chai'
import { HostError } from '../../src/errors.ts'
import { VISITS } from '../../src/host/host.ts'
import { keyOf } from '../../src/limits/account.ts'
import { StoredLimiter } from '../../src/limits/limiter.ts'
import { silentLog } from '../../src/protocols/log.ts'
import type { LimitHolder, Limits } from '../../src/run/state/run-quota.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the limiter', () => {
  const open: RecordStore[] = []
  afterEach(async () => {
    for (const records of open.splice(0)) await records.close()
  })

  async function makeLimiter(files: Record<string, string> = {}) {
    const { dir } = await makeProject(files)
    const store = await openStore({ store: 'sqlite', dir, projectDir: dir })
    open.push(store)
    /** Beginnings of the keys whose commits fail. */
    const down = new Set<string>()
    const records: RecordStore = Object.create(store, {
      serverId: { value: store.serverId },
      get: { value: store.get.bind(store) },
      now: { value: store.now.bind(store) },
      isServerAlive: { value: async () => true },
      commit: {
        value: async (...args: Parameters<RecordStore['commit']>) => {
          if (args[0].some(([key]) => down.has(key))) throw new HostError('STORE_UNAVAILABLE', 'down')
          return store.commit(...args)
        },
      },
    })
    const limiter = new StoredLimiter({ records, projectDir: dir, log: silentLog })
    const counts = async (holder: LimitHolder) => JSON.parse((await store.get([keyOf(holder)]))[0] ?? '{}')
    return { limiter, down, counts }
  }

  const holderOf = (limits: Limits, key?: string): LimitHolder => ({ tenant: 'acme', ...(key && { key }), limits })
  const codeOf = (error: HostError) => error.code

  it('holds runs that a worker takes up to the limits that the latest was accepted with', async () => {
    const { limiter } = await makeLimiter()
    const takeUp = (id: string, tokens: number) => limiter.resume([holderOf({ tokens_per_day: tokens }, 'ada')], id)
    const first = takeUp('resp_1', 100)
    await first.spend({ inputTokens: 50, outputTokens: 0 }, undefined)
    await first.admitCall()
    const second = takeUp('resp_2', 40)
    for (const quota of [first, second]) {
      const refusal = await quota.admitCall().catch((error) => error)
      expect(refusal.message).to.match(/^The limit of 40 tokens per day is reached\./)
    }
  })

  for (const failing of [[0], [1], [0, 1]])
    it(`gives back the places of a run in the background that it could not accept (${failing} of key and tenant)`, async () => {
      const { limiter, down, counts } = await makeLimiter()
      const holders = [
        holderOf({ concurrent_runs: 1, requests_per_minute: 9 }, 'ada'),
        holderOf({ concurrent_runs: 1 }),
      ]
      const accept = async (id: string) => {
        const ticket = limiter.ticketFor(holders)
        await ticket.prepare()
        for (const index of failing) down.add(keyOf(holders[index] as LimitHolder))
        return ticket.accept(id)
      }
      for (const id of ['resp_1', 'resp_2']) {
        expect(await accept(id).catch(codeOf)).to.equal('STORE_UNAVAILABLE')
        down.clear()
        await eventually(async () => {
          for (const holder of holders)
            expect(await counts(holder)).to.deep.include({ requests: 0, servers: {}, background: {} })
        })
      }
      const ticket = limiter.ticketFor(holders)
      await ticket.prepare()
      await ticket.accept('resp_3')
      expect((await counts(holders[1] as LimitHolder)).servers).to.deep.equal({})
    })

  it('counts what models have used although the store fails, once it answers again', async () => {
    const { limiter, down, counts } = await makeLimiter({ 'prices.yml': 'paid: { input: 1000000, output: 2000000 }' })
    const holder = holderOf({ tokens_per_day: 100, cost_per_day: 100 }, 'ada')
    const ticket = limiter.ticketFor([holder])
    await ticket.prepare()
    const quota = ticket.take()
    await quota.spend({ inputTokens: 10 }, 'paid')
    down.add(keyOf(holder))
    expect(await quota.spend({ inputTokens: 20, outputTokens: 5 }, 'paid').catch(codeOf)).to.equal('STORE_UNAVAILABLE')
    quota.end({ inputTokens: 31, outputTokens: 5, reasoningTokens: 0, cachedInputTokens: 0 })
    down.clear()
    await eventually(async () => expect(await counts(holder)).to.deep.include({ tokens: 36, cost: 40 }))
  })

  it('counts no tokens that are no positive numbers, and goes on counting', async () => {
    const files = { 'prices.yml': 'paid: { input: 1000000, output: 2000000, cached_input: 500000 }' }
    const { limiter, counts } = await makeLimiter(files)
    const holder = holderOf({ tokens_per_day: 100, cost_per_day: 100 }, 'ada')
    const quota = limiter.resume([holder], 'resp_1')
    const odd: unknown[] = [
      { inputTokens: -5, outputTokens: 2 },
      { inputTokens: Number.NaN, outputTokens: null },
      { inputTokens: '7', outputTokens: Number.POSITIVE_INFINITY },
      undefined,
      { inputTokens: 2, cachedInputTokens: 4 },
    ]
    for (const usage of odd) await quota.spend(usage as object, 'paid')
    await quota.admitCall()
    expect(await counts(holder)).to.deep.include({ tokens: 4, cost: 6 })
  })

  it('counts what each model of a call has used, also behind one without a price', async () => {
    const { limiter, counts } = await makeLimiter({ 'prices.yml': 'paid: { input: 1000000, output: 2000000 }' })
    const model = defineModule({
      name: 'Model',
      provides: [LLM],
      create: () => ({
        async *generate() {
          yield { type: 'usage', usage: { inputTokens: 3 }, model: 'unknown' } as const
          yield { type: 'usage', usage: { inputTokens: 10 }, model: 'paid' } as const
        },
      }),
    })
    const host = new AgentHost()
    const modules = [
      { id: 'model', module: model },
      { id: 'loop', module: 'orchestrator/tool-loop' },
    ]
    await host.register({ id: 'agent', modules })
    const holder = holderOf({ cost_per_day: 100 }, 'ada')
    const visit = { sees: undefined, ticket: limiter.ticketFor([holder]) }
    const failure = await host[VISITS].enter(visit, () => host.run('agent', 'hi')).catch(({ message }) => message)
    await host.close()
    expect(failure).to.contain("The model 'unknown' has no price")
    await eventually(async () => expect(await counts(holder)).to.deep.include({ tokens: 13, cost: 10 }))
  })
})
