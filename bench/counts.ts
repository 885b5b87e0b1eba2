import { CountedServer, type Counts } from './counted-server.ts'
import { noteCounts } from './pins.ts'
import { LONGER_WALKS, REQUESTS } from './walks.ts'

const HEADINGS = ['functions', 'files', 'promises', 'KB', 'commits', 'turns read', 'conversations read']

/**
 * Prints what this build runs for a request, which is the same on every machine, however busy.
 *
 * @param against folders of other checkouts, whose builds are counted, too
 */
export async function benchCounts(against: readonly string[]): Promise<void> {
  console.log('\n## Counts: functions of dist that nine of ten requests run, and what a request makes\n')
  const all = await printCounts('this build')
  for (const { title } of REQUESTS) noteCounts(title, all.get(title) as Counts)
  for (const checkout of against) await printCounts(checkout, checkout)
}

async function printCounts(name: string, checkout?: string): Promise<Map<string, Counts>> {
  console.log([name.padEnd(36), ...HEADINGS].join('  '))
  const server = await CountedServer.start(checkout)
  const all = new Map<string, Counts>()
  for (const walk of [...REQUESTS, ...LONGER_WALKS]) {
    const counts = await server.count(walk)
    console.log([walk.title.padEnd(36), ...cellsOf(counts)].join('  '))
    all.set(walk.title, counts)
  }
  await server.stop()
  console.log()
  return all
}

function cellsOf({ functions, files, promises, bytes, commits, turnReads, conversationReads }: Counts): string[] {
  const figures = [functions.length, files, promises, bytes / 1024, commits, turnReads, conversationReads]
  return figures.map((figure, index) => figure.toFixed(0).padStart((HEADINGS[index] as string).length))
}
