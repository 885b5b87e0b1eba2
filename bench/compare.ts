import autocannon from 'autocannon'
import type { ChildServer } from './child-server.ts'
import { median } from './median.ts'
import { noteRatio } from './ratios.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 2)
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
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

/** Servers of one comparison. */
export interface Contestants {
  readonly floor: ChildServer
  /** This build first, then those that it is compared with. */
  readonly builds: readonly ChildServer[]
}

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
}

type Figure = keyof Measured

/** Figures of one round; those of the floor are the means of its first and its last. */
export interface Round {
  readonly floor: Measured
  readonly builds: readonly Measured[]
}

/** Compares a server with its floor. Reported are medians of the rounds. */
export async function compare(load: Load, connections: number, floor: ChildServer, own: ChildServer): Promise<void> {
  const contestants = { floor, builds: [own] }
  await warmUp(load, connections, contestants)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(load, connections, contestants))
  report(load, connections, rounds)
}

/** Asks until the compiler of the engine has seen enough. */
export async function warmUp(load: Load, connections: number, contestants: Contestants): Promise<void> {
  for (const [server, bodies] of sidesOf(load, contestants)) {
    await fire(server, load.path, bodies, connections, WARM_UP_SECONDS)
  }
}

/** Asks the floor first and last: whatever else the machine does hits all of a round. */
export async function measureRound(load: Load, connections: number, contestants: Contestants): Promise<Round> {
  const sides = sidesOf(load, contestants)
  const measured: Measured[] = []
  for (const [server, bodies] of [...sides, ...sides.slice(0, 1)]) {
    measured.push(await measure(server, load.path, bodies, connections))
  }
  const [first, last] = [measured[0] as Measured, measured.at(-1) as Measured]
  return { floor: mapFigures((name) => (first[name] + last[name]) / 2), builds: measured.slice(1, -1) }
}

/** Returns the median of the ratios to the floor, each within its round. */
export function ratioOf(rounds: readonly Round[], build: number, figure: Figure): number {
  return median(rounds.map(({ floor, builds }) => (builds[build]?.[figure] ?? Number.NaN) / floor[figure]))
}

/** Prints the figures, and notes the ratio of CPU time. */
export function report(
  { title, cpuGoal }: Load,
  connections: number,
  rounds: readonly Round[],
  against: readonly string[] = [],
): void {
  const line = `${title}, ${connections} connection${connections > 1 ? 's' : ''}`
  console.log(line)
  printFigures('floor', rounds, ({ floor }) => floor)
  for (const [build, name] of ['own', ...against].entries()) {
    printFigures(name, rounds, ({ builds }) => builds[build] as Measured)
    const cpu = ratioOf(rounds, build, 'cpuMicros')
    const verdict = build > 0 || cpuGoal === undefined ? '' : ` (goal ${cpuGoal}: ${cpu <= cpuGoal ? 'met' : 'missed'})`
    console.log(
      `    x ${ratioOf(rounds, build, 'perSecond').toFixed(2)} of the floor, CPU x ${cpu.toFixed(2)}${verdict}`,
    )
  }
  console.log()
  noteRatio(line, ratioOf(rounds, 0, 'cpuMicros'))
}

function printFigures(name: string, rounds: readonly Round[], of: (round: Round) => Measured): void {
  const all = rounds.map(of)
  const { perSecond, p50, p99, cpuMicros } = mapFigures((figure) => median(all.map((measured) => measured[figure])))
  const rate = `${perSecond.toFixed(0).padStart(7)}/s  p50 ${p50.toFixed(0)}  p99 ${p99.toFixed(0)}`
  console.log(`  ${name.padEnd(7)} ${rate}  CPU ${cpuMicros.toFixed(0)} µs`)
}

type Side = readonly [server: ChildServer, bodies: readonly string[]]

function sidesOf({ bodies, floorBodies = bodies }: Load, { floor, builds }: Contestants): Side[] {
  return [[floor, floorBodies], ...builds.map((build): Side => [build, bodies])]
}

async function measure(...[server, path, bodies, connections]: Fired): Promise<Measured> {
  const before = await server.used()
  const { requests, latency, errors, non2xx } = await fire(server, path, bodies, connections, SECONDS)
  const after = await server.used()
  if (errors + non2xx > 0) throw new Error(`${server.name}: ${errors} errors, ${non2xx} answers that were not 2xx`)
  return {
    perSecond: requests.average,
    p50: latency.p50,
    p99: latency.p99,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests.total,
  }
}

type Fired = [server: ChildServer, path: string, bodies: readonly string[], connections: number]

function fire(...[server, path, bodies, connections, duration]: [...Fired, duration: number]) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const requests = bodies.map((body) => ({ method: 'POST' as const, path, headers, body }))
  return autocannon({ url: server.url, requests, connections, duration })
}

function mapFigures(of: (figure: Figure) => number): Measured {
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), cpuMicros: of('cpuMicros') }
}
