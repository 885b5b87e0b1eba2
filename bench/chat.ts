import autocannon from 'autocannon'
import { ChildServer } from './child-server.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
}

interface Load {
  readonly title: string
  readonly goal: number
  readonly body: string
}

const request = (model: string, stream: boolean) =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'What is the time in Tokyo, and why?' }] })

const LOADS: readonly Load[] = [
  { title: 'chat JSON', goal: 0.75, body: request('echo', false) },
  { title: 'chat SSE, 20 chunks', goal: 0.85, body: request('twenty', true) },
]

/** This server against the bare one: the same requests, in turns, so that whatever else the machine does hits both. */
export async function benchChat(): Promise<void> {
  const servers = [await ChildServer.start('bare'), await ChildServer.start('agent-host')]
  console.log('\n## Chat: requests/s, latency in ms, CPU time a request; ratio to a bare Fastify\n')
  for (const load of LOADS) {
    for (const connections of [1, 10, 100]) await compare(load, connections, servers)
  }
  for (const server of servers) await server.stop()
}

async function compare(load: Load, connections: number, servers: readonly ChildServer[]): Promise<void> {
  const rounds: Measured[][] = servers.map(() => [])
  for (const server of servers) await fire(server, load, connections, 1)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, server] of servers.entries()) rounds[index]?.push(await measure(server, load, connections))
  }
  const [bare, own] = rounds.map(median)
  if (!bare || !own) return
  const ratio = own.perSecond / bare.perSecond
  const line = (name: string, m: Measured) =>
    `  ${name.padEnd(11)} ${m.perSecond.toFixed(0).padStart(7)}/s  p50 ${m.p50}  p99 ${m.p99}  CPU ${m.cpuMicros.toFixed(0)} µs`
  console.log(`${load.title}, ${connections} connection${connections > 1 ? 's' : ''}`)
  console.log(line('bare', bare))
  console.log(line('agent-host', own))
  const verdict = ratio >= load.goal ? 'met' : 'missed'
  const cpu = (bare.cpuMicros / own.cpuMicros).toFixed(2)
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

function fire(server: ChildServer, { body }: Load, connections: number, duration: number) {
  const url = `${server.url}/compat/chat/completions`
  const headers = { 'content-type': 'application/json' }
  return autocannon({ url, method: 'POST', headers, body, connections, duration })
}

/** The round in the middle, by requests/s. */
function median(rounds: Measured[]): Measured | undefined {
  return rounds.sort((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds.length / 2)]
}
