import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../src/store/open-store.ts'
import { appendLog, removeLog } from '../src/store/record-log.ts'
import type { Change, RecordStore } from '../src/store/record-store.ts'
import { hasPostgres, hasRedis, startPostgres, startRedis } from '../test/support/store-servers.ts'
import { cpuMicrosOf } from './process-cpu.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const LANES = 50
const STEPS = 5

/** A live response as the server stores one: its beginning, five steps, its end; on every kind of store, in turns. */
export async function benchStores(): Promise<void> {
  console.log(`\n## Stores: live responses of ${STEPS} steps, ${LANES} at once\n`)
  const dir = mkdtempSync(join(tmpdir(), 'agent-host-bench-'))
  const servers = await Promise.all([
    ...(hasPostgres() ? [startPostgres([])] : []),
    ...(hasRedis() ? [startRedis()] : []),
  ])
  const stores = await Promise.all(
    ['sqlite', ...servers.map(({ directUrl }) => directUrl)].map((store) =>
      openStore({ store, dir, projectDir: process.cwd() }),
    ),
  )
  const pids = [undefined, ...servers.map(({ pid }) => pid)]
  const names = ['SQLite', ...(hasPostgres() ? ['PostgreSQL'] : []), ...(hasRedis() ? ['Redis'] : [])]
  const results = names.map((): Measured[] => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, store] of stores.entries()) {
      const measured = await measure(store, pids[index])
      // The first round is for the compilers.
      if (round > 0) results[index]?.push(measured)
    }
  }
  const floor = median(results[0] ?? [])
  for (const [index, name] of names.entries()) {
    const { perSecond, cpuMicros, engineMicros } = median(results[index] ?? [])
    const ratio = (perSecond / floor.perSecond).toFixed(2)
    console.log(
      `  ${name.padEnd(11)} ${perSecond.toFixed(0).padStart(6)}/s  ratio ${ratio} (goal 0.9)  CPU of Node ${cpuMicros.toFixed(0)} µs, of the engine ${engineMicros.toFixed(0)} µs`,
    )
  }
  await Promise.all(stores.map((store) => store.close()))
  await Promise.all(servers.map((server) => server.remove()))
  rmSync(dir, { recursive: true, force: true })
}

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
  /** 0 for one that runs in this process. */
  readonly engineMicros: number
}

async function measure(store: RecordStore, pid: number | undefined): Promise<Measured> {
  const endMs = Date.now() + SECONDS * 1000
  const [before, engineBefore] = [process.cpuUsage(), engineMicros(pid)]
  let done = 0
  const lane = async (name: number) => {
    for (let n = 0; Date.now() < endMs; n++, done++) await storeResponse(store, `${Date.now()}-${name}-${n}`)
  }
  await Promise.all(Array.from({ length: LANES }, (_, name) => lane(name)))
  const { user, system } = process.cpuUsage(before)
  return {
    perSecond: done / SECONDS,
    cpuMicros: (user + system) / done,
    engineMicros: (engineMicros(pid) - engineBefore) / done,
  }
}

function engineMicros(pid: number | undefined): number {
  return pid === undefined ? 0 : cpuMicrosOf(pid)
}

const RECORD = JSON.stringify({ status: 'in_progress', input: 'x'.repeat(600) })
const STEP = JSON.stringify(['some words that were said '])
const MARK = JSON.stringify({ server: 'bench' })

async function storeResponse(store: RecordStore, id: string): Promise<void> {
  const [row, turn, running, log] = [`response:${id}`, `turn:${id}`, `running:${id}`, `steps:${id}`]
  const fence = { equal: [[running, MARK] as const] }
  const whole: Change[] = [
    [turn, RECORD],
    [row, RECORD],
  ]
  await store.commit([[running, MARK], appendLog(log, 0, STEP), ...whole])
  for (let step = 1; step < STEPS; step++) await store.commit([appendLog(log, step, STEP)], fence, [id])
  await store.commit([...whole, [running, undefined], ...removeLog(log, STEPS)], fence, [id])
}

function median(all: readonly Measured[]): Measured {
  const sorted = [...all].sort((one, other) => one.perSecond - other.perSecond)
  return sorted[Math.floor(sorted.length / 2)] ?? { perSecond: 0, cpuMicros: 0, engineMicros: 0 }
}
