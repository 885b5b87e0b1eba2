import autocannon from 'autocannon'
import type { ChildServer } from './child-server.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const WARM_UP_SECONDS = 3

/** What is asked again and again. */
export interface Load {
  readonly title: string
  /** What this server should reach of the floor's requests/s. */
  readonly goal: number
  readonly path: string
  readonly body: string
}

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
}

/** This server against the bare one: the same requests, in turns, so that whatever else the machine does hits both. */
export async function compare(load: Load, connections: number, bare: ChildServer, own: ChildServer): Promise<void> {
  const servers = [bare, own]
  const rounds: Measured[][] = servers.map(() => [])
  // Until the compiler of the engine has seen enough.
  for (const server of servers) await fire(server, load, connections, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, server] of servers.entries()) rounds[index]?.push(await measure(server, load, connections))
  }
  const [floor, reached] = rounds.map(median)
  if (!floor || !reached) return
  const ratio = reached.perSecond / floor.perSecond
  const line = (name: string, m: Measured) =>
    `  ${name.padEnd(11)} ${m.perSecond.toFixed(0).padStart(7)}/s  p50 ${m.p50}  p99 ${m.p99}  CPU ${m.cpuMicros.toFixed(0)} µs`
  console.log(`${load.title}, ${connections} connection${connections > 1 ? 's' : ''}`)
  console.log(line('bare', floor))
  console.log(line(own.name, reached))
  const verdict = ratio >= load.goal ? 'met' : 'missed'
  const cpu = (floor.cpuMicros / reached.cpuMicros).toFixed(2)
  console.log(`  ratio ${ratio.toFixed(2)} (goal ${load.goal}: ${verdict}), by CPU time ${cpu}\n`)
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

function fire(server: ChildServer, { path, body }: Load, connections: number, duration: number) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return autocannon({ url: server.url + path, method: 'POST', headers, body, connections, duration })
}

/** The round in the middle, by requests/s. */
function median(rounds: Measured[]): Measured | undefined {
  return rounds.sort((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds.length / 2)]
}
