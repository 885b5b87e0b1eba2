import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../test/support/store-servers.ts'
import { cpuMicrosOf } from './process-cpu.ts'
import { ReplicaPair } from './replica-pair.ts'

const STREAMS = Number(process.env.BENCH_STREAMS ?? 500)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
/** The last is the goal's. */
const RATES = [5, 10, 20]
const WORDS = 600
const WORDS_PER_SECOND = 100
const FOLLOWERS = 20
const CANCELLED = 200
/** Time that all clients get before the first step. */
const BEGIN_MS = 3000

const KINDS = [
  { name: 'PostgreSQL', isThere: hasPostgres(), startServer: () => startPostgres([]), countQueries: countTransactions },
  { name: 'Redis', isThere: hasRedis(), startServer: () => startRedis(), countQueries: countCommands },
].filter(({ name }) => (process.env.BENCH_STORE ?? name) === name)

/** Two servers on one store: the cost of a request to the server that does not run the response. */
export async function benchReplicas(): Promise<void> {
  for (const { name, isThere, startServer, countQueries } of KINDS) {
    console.log(`\n## Replicas that share ${name}${isThere ? '' : ': skipped, it is not installed'}\n`)
    if (!isThere) continue
    const store = await startServer()
    const pair = await ReplicaPair.start(store.directUrl)
    await benchIdle(await countQueries(store.directUrl))
    // The first round is for the compilers.
    await measureSteps(pair, store, RATES[0] as number)
    for (const rate of RATES) await benchSteps(pair, store, rate)
    await benchFollowers(pair)
    await benchCancel(pair)
    await pair.stop()
    await store.remove()
  }
}

/** Two idle servers: one makes half of these requests. */
async function benchIdle(queries: QueryCounter): Promise<void> {
  const seconds = 3 * SECONDS
  await wait(3000)
  const before = await queries.count()
  await wait(seconds * 1000)
  const perSecond = ((await queries.count()) - before) / seconds / 2
  await queries.close()
  console.log(`  an idle server asks ${perSecond.toFixed(1)} times a second (goal 5)`)
}

async function benchSteps(pair: ReplicaPair, store: StoreServer, rate: number): Promise<void> {
  const { delays: byStream, expected, cpuMicros } = await measureSteps(pair, store, rate)
  const delays = byStream.flat()
  const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)]
  // All streams begin and end together.
  const steady = byStream.flatMap((all) => all.slice(rate, -rate))
  const between = `p50 ${percentile(steady, 0.5).toFixed(1)} ms, p99 ${percentile(steady, 0.99).toFixed(1)} ms without the first and last second`
  const [owner, other, engine, clients] = cpuMicros.map((micros) => (micros / expected).toFixed(0))
  console.log(
    `  a step on the other server, ${STREAMS} streams of ${rate}/s: p50 ${p50.toFixed(1)} ms (goal 5), p99 ${p99.toFixed(1)} ms (goal 100); ${between}; ${delays.length} of ${expected} steps arrived; CPU of a step: owner ${owner}, other ${other}, store ${engine}, clients ${clients} µs`,
  )
}

/** Also says who used the CPU: while all of it is busy, steps wait. */
async function measureSteps(pair: ReplicaPair, store: StoreServer, rate: number) {
  const input = `${Date.now() + BEGIN_MS + STREAMS * 5} ${SECONDS * rate} ${rate}`
  const ids = await Promise.all(Array.from({ length: STREAMS }, () => pair.begin('ticking', input)))
  const before = await usedCpu(pair, store)
  const delays = await Promise.all(ids.map((id) => pair.follow(pair.other, id)))
  const cpuMicros = (await usedCpu(pair, store)).map((micros, index) => micros - (before[index] ?? 0))
  return { delays, expected: STREAMS * SECONDS * rate, cpuMicros }
}

/** CPU time so far of the owner, the other server, the store and this process, which is all clients; in microseconds. */
async function usedCpu(pair: ReplicaPair, store: StoreServer): Promise<number[]> {
  const [owner, other] = [await pair.owner.used(), await pair.other.used()]
  const { user, system } = process.cpuUsage()
  return [owner.cpuMicros, other.cpuMicros, cpuMicrosOf(store.pid), user + system]
}

async function benchFollowers(pair: ReplicaPair): Promise<void> {
  const [local, elsewhere, twice]: number[][] = [[], [], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = [
      await cpuOfFollowers(pair, 'owner', FOLLOWERS),
      await cpuOfFollowers(pair, 'other', FOLLOWERS),
      await cpuOfFollowers(pair, 'other', 2 * FOLLOWERS),
    ]
    // The first round is for the compilers.
    if (round > 0) for (const [index, all] of [local, elsewhere, twice].entries()) all?.push(measured[index] ?? 0)
  }
  const [own, others, double] = [local, elsewhere, twice].map((all) => percentile(all ?? [], 0.5)) as [
    number,
    number,
    number,
  ]
  console.log(
    `  ${FOLLOWERS} followers of ${WORDS} words: ${own.toFixed(2)} s of CPU where it runs, ${others.toFixed(2)} s elsewhere: ${(others / own).toFixed(2)} (goal 1.5); ${2 * FOLLOWERS} elsewhere ${double.toFixed(2)} s: ${(double / others).toFixed(2)} of ${FOLLOWERS} (goal 2)`,
  )
}

/** @returns CPU time of both servers, in seconds */
async function cpuOfFollowers(pair: ReplicaPair, where: 'owner' | 'other', count: number): Promise<number> {
  const before = await pair.cpuMicros()
  const id = await pair.begin('ticking', `${Date.now() + 1000} ${WORDS} ${WORDS_PER_SECOND}`)
  await Promise.all(Array.from({ length: count }, () => pair.follow(pair[where], id)))
  return ((await pair.cpuMicros()) - before) / 1e6
}

async function benchCancel(pair: ReplicaPair): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: CANCELLED }, async (_, index) => ({ index, id: await pair.begin('silent', `${index}`) })),
  )
  for (const { id } of runs) await pair.whenBegun(id)
  const askedMs = new Map<string, number>()
  for (const { index, id } of runs) {
    askedMs.set(`${index}`, performance.timeOrigin + performance.now())
    await pair.cancel(id)
  }
  await wait(1000)
  const abortedMs = pair.abortedMs()
  const delays = [...askedMs].map(([index, atMs]) => (abortedMs.get(index) ?? Number.POSITIVE_INFINITY) - atMs)
  const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)]
  console.log(
    `  a cancel by the other server reaches a silent agent: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (goal 100)`,
  )
}

/** Counts the requests of servers to a store. */
interface QueryCounter {
  count(): Promise<number>
  close(): Promise<unknown>
}

/** Statements outside of a transaction are transactions of their own. */
async function countTransactions(url: string): Promise<QueryCounter> {
  const client = new pg.Client(url)
  await client.connect()
  return {
    async count() {
      const text = 'SELECT xact_commit + xact_rollback AS sum FROM pg_stat_database WHERE datname = current_database()'
      const { rows } = await client.query<{ sum: string }>(text)
      return Number(rows[0]?.sum)
    },
    close: () => client.end(),
  }
}

/** What a script calls belongs to the script. */
async function countCommands(url: string): Promise<QueryCounter> {
  const client = new Redis(url)
  const monitor = await client.monitor()
  let commands = 0
  monitor.on('monitor', (_time: string, _command: string[], source: string) => {
    if (source !== 'lua') commands++
  })
  return {
    count: async () => commands,
    async close() {
      monitor.disconnect()
      client.disconnect()
    },
  }
}

function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN
}
