import { basename, resolve } from 'node:path'
import { ChildServer } from './child-server.ts'
import { type Contestants, measureRound, ROUNDS, type Round, ratioOf, report, warmUp } from './compare.ts'
import { moveTo, splitCores } from './cores.ts'
import { LOADS, ownBuild, type RequestLoad, type ServerArguments } from './request-loads.ts'

interface Line {
  readonly load: RequestLoad
  /** The rounds of each number of connections. */
  readonly rounds: readonly (readonly [connections: number, rounds: Round[]])[]
}

/**
 * Prints the table of docs/benchmarks.md. Servers have a core, and their load has another. Each round has new processes: two of one
 * build differ, too.
 *
 * @param against folders of other checkouts, whose builds are measured in the same rounds
 */
export async function benchRequests(against: readonly string[]): Promise<void> {
  console.log('\n## Requests\n')
  const cores = splitCores()
  const lines = LOADS.map((load): Line => ({ load, rounds: (load.connections ?? [1, 10, 100]).map((n) => [n, []]) }))
  if (cores) moveTo(cores.load)
  for (let round = 0; round < ROUNDS; round++) {
    console.log(`round ${round + 1} of ${ROUNDS}`)
    for (const line of lines) await measureLine(line, against, cores?.server)
  }
  if (cores) moveTo(cores.all)
  const names = against.map((checkout) => basename(resolve(checkout)))
  for (const { load, rounds } of lines) {
    for (const [connections, all] of rounds) report(load, connections, all, load.own ? [] : names)
  }
  console.log(`Measured ${describeRun(cores !== undefined)}\n\n${formatTable(lines, names)}\n`)
}

async function measureLine({ load, rounds }: Line, against: readonly string[], core?: string): Promise<void> {
  const contestants = await startContestants(load, load.own ? [] : against, core)
  await warmUp(load, 10, contestants)
  for (const [connections, all] of rounds) all.push(await measureRound(load, connections, contestants))
  await Promise.all([contestants.floor, ...contestants.builds].map((server) => server.stop()))
}

async function startContestants(load: RequestLoad, against: readonly string[], core?: string): Promise<Contestants> {
  const start = ([name, ...args]: ServerArguments, checkout?: string) =>
    ChildServer.start(name, args, { checkout, core })
  const floor = await start(load.floor())
  const builds: ChildServer[] = []
  for (const checkout of [undefined, ...against]) builds.push(await start((load.own ?? ownBuild)(), checkout))
  return { floor, builds }
}

function describeRun(hasCores: boolean): string {
  const date = new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
  const cores = hasCores ? 'with a core for the server and one for its load' : 'without cores of their own'
  return `on ${date} with Node ${process.versions.node}, ${cores}, new processes in each round (of ${ROUNDS}); 1, 10 and 100 connections.`
}

/** Returns the ratios to the floor, as a table in Markdown. */
function formatTable(lines: readonly Line[], against: readonly string[]): string {
  const builds = ['', ...against.map((name) => `, ${name}`)]
  const headings = builds.flatMap((of) => [`requests/s against the floor${of}`, `CPU time against the floor${of}`])
  const rows = lines.map(({ load, rounds }) => {
    const cells = builds.flatMap((_, build) => [
      formatRatios(rounds, build, 'perSecond'),
      formatRatios(rounds, build, 'cpuMicros'),
    ])
    return [load.title, ...cells]
  })
  const titles = ['what', ...headings]
  const widths = titles.map((_, index) => Math.max(...[titles, ...rows].map((row) => (row[index] as string).length)))
  return [titles, widths.map((width) => '-'.repeat(width)), ...rows]
    .map((row) => `| ${row.map((cell, index) => cell.padEnd(widths[index] as number)).join(' | ')} |`)
    .join('\n')
}

function formatRatios(rounds: Line['rounds'], build: number, figure: 'perSecond' | 'cpuMicros'): string {
  return rounds
    .filter(([, all]) => all[0]?.builds[build])
    .map(([, all]) => ratioOf(all, build, figure).toFixed(2))
    .join(' / ')
}
