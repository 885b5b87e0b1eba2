import { closeSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import autocannon from 'autocannon'
import { compress } from '../src/tape/recording/compress.ts'
import { ChildServer } from './child-server.ts'
import { median } from './median.ts'
import { noteRatio } from './ratios.ts'
import { makeFolder, makeProject } from './temp-project.ts'
import { startVendor } from './vendor.ts'

const CONNECTIONS = 10
const ROUNDS = 5
/** Of a tape whose parts are measured apart. */
const FLOOR_ROUNDS = 20
const REPEATS = 100

interface Load {
  readonly title: string
  readonly agent: string
  /** CPU time of the server that records, as a multiple of the other's. */
  readonly goal: number
  /** Runs of a round: both servers have the same, so that the engine has compiled as much of both. */
  readonly runs: number
}

const LOADS: readonly Load[] = [
  { title: 'chat JSON of an echo, recording on against off', agent: 'echo', goal: 1.15, runs: 3000 },
  { title: 'a run of five tool calls, recording on against off', agent: 'five', goal: 1.05, runs: 600 },
  {
    title: 'a run of five tool calls, asked for by a vendor over HTTP, recording on against off',
    agent: 'vendor',
    goal: 1.05,
    runs: 120,
  },
]

/** Servers that trace: one that records each run as a tape, as `dev` does, and one that records none. */
export async function benchRecording(): Promise<void> {
  console.log('\n## Tapes: recording on against off\n')
  const vendor = await startVendor()
  process.env.BENCH_VENDOR_URL = vendor.url
  const projectDir = makeProject()
  const off = await ChildServer.start('agent-host', [makeProject(), '', 'debug'])
  const on = await ChildServer.start('agent-host', [projectDir, '', 'debug', JSON.stringify({ record: 1 })])
  for (const load of LOADS) {
    await compareCosts(load, off, on)
    printFloor(join(projectDir, 'debug', 'tapes'))
  }
  await Promise.all([off.stop(), on.stop()])
  vendor.stop()
}

/** CPU time of a run (µs), all threads of the server included. */
interface Cost {
  readonly all: number
  /** Outside of the kernel. */
  readonly user: number
}

async function compareCosts(load: Load, off: ChildServer, on: ChildServer): Promise<void> {
  for (const server of [off, on]) await costOf(load, server)
  const rounds: { readonly off: Cost; readonly on: Cost }[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push({ off: await costOf(load, off), on: await costOf(load, on) })
  const ratio = median(rounds.map((round) => round.on.all / round.off.all))
  const userRatio = median(rounds.map((round) => round.on.user / round.off.user))
  const of = (side: 'off' | 'on', figure: keyof Cost) => median(rounds.map((round) => round[side][figure])).toFixed(0)
  console.log(load.title)
  for (const side of ['off', 'on'] as const)
    console.log(`  ${side.padEnd(4)} CPU ${of(side, 'all')} µs, ${of(side, 'user')} µs of it outside of the kernel`)
  const verdict = ratio <= load.goal ? 'met' : 'missed'
  console.log(
    `  CPU x ${ratio.toFixed(2)} (goal ${load.goal}: ${verdict}), x ${userRatio.toFixed(2)} outside of the kernel`,
  )
  noteRatio(load.title, ratio)
}

async function costOf({ agent, runs }: Load, server: ChildServer): Promise<Cost> {
  const body = JSON.stringify({ model: agent, messages: [{ role: 'user', content: 'What is the time?' }] })
  const headers = { 'content-type': 'application/json' }
  const url = `${server.url}/compat/chat/completions`
  const before = await server.used()
  const { non2xx, errors } = await autocannon({
    url,
    method: 'POST',
    headers,
    body,
    amount: runs,
    connections: CONNECTIONS,
  })
  const after = await server.used()
  if (non2xx + errors > 0) throw new Error(`${server.name}: ${non2xx + errors} of ${runs} runs of ${agent} failed.`)
  const all = (after.cpuMicros - before.cpuMicros) / runs
  return { all, user: all - (after.kernelMicros - before.kernelMicros) / runs }
}

/** Prints what no way of recording can do without, for the latest tape in a folder: its lines as JSON, compressed, in a new file. */
function printFloor(folder: string): void {
  const paths = readdirSync(folder).map((name) => join(folder, name))
  const [latest = ''] = paths.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  const [, ...text] = gunzipSync(readFileSync(latest)).toString().trim().split('\n')
  const lines = text.map((line): unknown => JSON.parse(line))
  const json = text.join('\n')
  const tape = readFileSync(latest)
  const dir = makeFolder()
  const parts = {
    JSON: microsOf(() => lines.map((line) => JSON.stringify(line))),
    gzip: microsOf(() => compress(json)),
    'new file': microsOf((number) => writeNew(join(dir, `${number}.jsonl.gz`), tape)),
  }
  const shown = Object.entries(parts).map(([part, micros]) => `${part} ${micros.toFixed(0)} µs`)
  console.log(`  of it at least: ${shown.join(', ')} (${lines.length} lines, ${json.length} characters)\n`)
}

function writeNew(path: string, bytes: Buffer): void {
  const descriptor = openSync(path, 'wx', 0o600)
  writeSync(descriptor, bytes)
  closeSync(descriptor)
}

/** CPU time of the quickest of several rounds: what else the machine does only adds to it. */
function microsOf(work: (number: number) => void): number {
  const rounds = Array.from({ length: FLOOR_ROUNDS }, (_, round) => {
    const before = process.cpuUsage()
    for (let each = 0; each < REPEATS; each++) work(round * REPEATS + each)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / REPEATS
  })
  return Math.min(...rounds)
}
