import { ChildServer } from './child-server.ts'
import { type Contestants, measureRound, ROUNDS, type Round, ratioOf, report, warmUp } from './compare.ts'
import { moveTo, splitCores } from './cores.ts'
import { buildNames, LOADS, ownBuild, type RequestLoad, type ServerArguments } from './request-loads.ts'
import { printTable } from './tables.ts'

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
  const names = buildNames(against)
  for (const { load, rounds } of lines) {
    for (const [connections, all] of rounds) report(load, connections, all, load.own ? [] : names)
  }
  printRatios(lines, names, cores !== undefined)
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

/** Prints the ratios to the floor. */
function printRatios(lines: readonly Line[], against: readonly string[], hasCores: boolean): void {
  const builds = ['', ...against.map((name) => `, ${name}`)]
  const headings = builds.flatMap((of) => [`requests/s against the floor${of}`, `CPU time against the floor${of}`])
  const rows = lines.map(({ load, rounds }) => {
    const cells = builds.flatMap((_, build) => [
      formatRatios(rounds, build, 'perSecond'),
      formatRatios(rounds, build, 'cpuMicros'),
    ])
    return [load.title, ...cells]
  })
  printTable('requests', ['what', ...headings], rows, hasCores)
}

function formatRatios(rounds: Line['rounds'], build: number, figure: 'perSecond' | 'cpuMicros'): string {
  return rounds
    .filter(([, all]) => all[0]?.builds[build])
    .map(([, all]) => ratioOf(all, build, figure).toFixed(2))
    .join(' / ')
}
