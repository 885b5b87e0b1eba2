import { setTimeout as sleep } from 'node:timers/promises'
import { ChildServer } from './child-server.ts'
import { ROUNDS } from './compare.ts'
import { splitCores } from './cores.ts'
import { median } from './median.ts'
import { buildNames, type ServerArguments } from './request-loads.ts'
import { printTable } from './tables.ts'
import { makeAgents } from './temp-agents.ts'

/** Time after which a server that is ready has done what it does at first. */
const SETTLED_MS = 2000

const SERVED = { 'chat alone': 'ChatCompatApiAdapter', 'all adapters': '' }

interface Started {
  readonly readyMs: number
  readonly cpuMs: number
  readonly megabytes: number
}

interface Round {
  readonly floor: Started
  /** By what is served: each build. */
  readonly started: Readonly<Record<string, readonly Started[]>>
}

const FIGURES: readonly (readonly [figure: keyof Started, title: string])[] = [
  ['readyMs', 'ms until it is ready'],
  ['cpuMs', 'ms of CPU time until then'],
  ['megabytes', 'MB of memory, idle'],
]

/**
 * What a start costs beside one of the floor: a process with one echo agent, in turns.
 *
 * @param against folders of other checkouts, whose builds are started in the same rounds
 */
export async function benchStart(against: readonly string[]): Promise<void> {
  console.log('\n## Start and idle memory\n')
  const core = splitCores()?.server
  const builds = [undefined, ...against]
  const rounds: Round[] = []
  // The first round is for the caches of the machine.
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = await measureRound(builds, core)
    if (round > 0) rounds.push(measured)
  }
  const names = ['', ...buildNames(against).map((name) => `, ${name}`)]
  const titles = ['what', ...names.map((name) => `against the floor${name}`), 'floor']
  const rows = Object.keys(SERVED).flatMap((served) =>
    FIGURES.map(([figure, title]) => {
      const ratios = builds.map((_, build) => ratioOf(rounds, figure, ({ started }) => started[served]?.[build]))
      const floor = median(rounds.map((round) => round.floor[figure]))
      return [`${served}: ${title}`, ...ratios, floor.toFixed(0)]
    }),
  )
  printTable('start', titles, rows, core !== undefined)
}

/** The floor comes first and last: whatever else the machine does hits all of a round. */
async function measureRound(builds: readonly (string | undefined)[], core?: string): Promise<Round> {
  const first = await start(['bare'], core)
  const started: Record<string, Started[]> = {}
  for (const [served, adapters] of Object.entries(SERVED)) {
    started[served] = []
    for (const build of builds) started[served].push(await start(['agent-host', makeAgents(1), adapters], core, build))
  }
  const last = await start(['bare'], core)
  const mean = (figure: keyof Started) => (first[figure] + last[figure]) / 2
  return { floor: { readyMs: mean('readyMs'), cpuMs: mean('cpuMs'), megabytes: mean('megabytes') }, started }
}

function ratioOf(rounds: readonly Round[], figure: keyof Started, of: (round: Round) => Started | undefined): string {
  return median(rounds.map((round) => (of(round)?.[figure] ?? Number.NaN) / round.floor[figure])).toFixed(2)
}

async function start([name, ...args]: ServerArguments, core?: string, checkout?: string): Promise<Started> {
  const server = await ChildServer.start(name, args, { core, checkout })
  const { cpuMicros } = await server.used()
  await sleep(SETTLED_MS)
  const { rssBytes } = await server.used()
  await server.stop()
  return { readyMs: server.readyMs, cpuMs: cpuMicros / 1000, megabytes: rssBytes / 1e6 }
}
