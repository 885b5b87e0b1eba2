import autocannon from 'autocannon'
import type { ChildServer } from './child-server.ts'
import type { Contestants } from './contestants.ts'
import { median } from './median.ts'
import { noteRatio } from './ratios.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const WARM_UP_SECONDS = 2

/** Requests that a server is asked again and again. */
export interface Load {
  readonly title: string
  /** CPU time of this server as a multiple of the floor's; undefined where no goal is set. */
  readonly cpuGoal?: number
  readonly path: string
  /** One after the other on each connection. */
  readonly bodies: readonly string[]
  /** Requests of the floor, where they are others. */
  readonly floorBodies?: readonly string[]
}

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
}

/**
 * Compares this server with its floor, and with an earlier build where there is one. Each round asks the floor first and last;
 * ratios are those within a round, because whatever else the machine does hits all of it. Reported are medians of the rounds.
 */
export async function compare(
  load: Load,
  connections: number,
  { floor, own, before }: Omit<Contestants, 'stop'>,
): Promise<void> {
  const first: Side = [floor, { ...load, bodies: load.floorBodies ?? load.bodies }]
  const sides: Side[] = [first, [own, load], ...(before ? [[before, load] as const] : [])]
  // Until the compiler of the engine has seen enough.
  for (const side of sides) await fire(...side, connections, WARM_UP_SECONDS)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const measured: Measured[] = []
    for (const side of [...sides, first]) measured.push(await measure(...side, connections))
    rounds.push(toRound(measured, before !== undefined))
  }
  report(`${load.title}, ${connections} connection${connections > 1 ? 's' : ''}`, load, rounds)
}

type Side = readonly [server: ChildServer, load: Load]

/** Figures of one round; those of the floor are the means of its first and its last. */
interface Round {
  readonly floor: Measured
  readonly own: Measured
  readonly before?: Measured
}

function toRound(measured: readonly Measured[], hasBefore: boolean): Round {
  const [first, own, ...others] = measured as [Measured, Measured, ...Measured[]]
  const last = others.at(-1) as Measured
  const floor = mapFigures((name) => (first[name] + last[name]) / 2)
  return { floor, own, ...(hasBefore ? { before: others[0] as Measured } : {}) }
}

function report(title: string, { cpuGoal }: Load, rounds: readonly Round[]): void {
  console.log(title)
  for (const name of ['floor', 'own', 'before'] as const) {
    const all = rounds.flatMap((round) => round[name] ?? [])
    if (all.length === 0) continue
    const { perSecond, p50, p99, cpuMicros } = mapFigures((figure) => median(all.map((measured) => measured[figure])))
    const rate = `${perSecond.toFixed(0).padStart(7)}/s  p50 ${p50.toFixed(0)}  p99 ${p99.toFixed(0)}`
    console.log(`  ${name.padEnd(7)} ${rate}  CPU ${cpuMicros.toFixed(0)} µs`)
  }
  const ratioTo = (other: 'floor' | 'before', figure: Figure) =>
    median(rounds.map((round) => round.own[figure] / (round[other] ?? round.own)[figure]))
  const cpu = ratioTo('floor', 'cpuMicros')
  const verdict = cpuGoal === undefined ? '' : ` (goal ${cpuGoal}: ${cpu <= cpuGoal ? 'met' : 'missed'})`
  const against = rounds[0]?.before ? `; CPU x ${ratioTo('before', 'cpuMicros').toFixed(3)} of the earlier build` : ''
  console.log(
    `  x ${ratioTo('floor', 'perSecond').toFixed(2)} of the floor, CPU x ${cpu.toFixed(2)}${verdict}${against}\n`,
  )
  noteRatio(title, cpu)
}

async function measure(server: ChildServer, load: Load, connections: number): Promise<Measured> {
  const before = await server.used()
  const { requests, latency, errors, non2xx } = await fire(server, load, connections, SECONDS)
  const after = await server.used()
  if (errors + non2xx > 0) throw new Error(`${server.name}: ${errors} errors, ${non2xx} answers that were not 2xx`)
  return {
    perSecond: requests.average,
    p50: latency.p50,
    p99: latency.p99,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests.total,
  }
}

function fire(server: ChildServer, { path, bodies }: Load, connections: number, duration: number) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const requests = bodies.map((body) => ({ method: 'POST' as const, path, headers, body }))
  return autocannon({ url: server.url, requests, connections, duration })
}

type Figure = keyof Measured

function mapFigures(of: (figure: Figure) => number): Measured {
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), cpuMicros: of('cpuMicros') }
}
