// Runs the benchmarks that docs/benchmarks.md explains: all of them, or the parts that are named. `curves` and each of its parts run
// only when they are named: they write the plots of docs/growth.md. `--keep` keeps the ratios as those
// of a release, and the counts as pins of a test; `--write` puts the tables into docs/benchmarks.md; `--against <checkout>` compares
// with the build of another checkout.
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { benchAgents } from './agents.ts'
import { benchApprovals } from './approvals.ts'
import { benchChildRuns } from './child-runs.ts'
import { distOf } from './child-server.ts'
import { benchCounts } from './counts.ts'
import { CURVES } from './curves.ts'
import { benchDebug } from './debug.ts'
import { benchLibrary } from './library.ts'
import { benchPictures } from './pictures.ts'
import { keepPins } from './pins.ts'
import { benchProcesses } from './processes.ts'
import { keepRatios, reportWorse } from './ratios.ts'
import { benchRecording } from './recording.ts'
import { benchReload } from './reload.ts'
import { benchReplicas } from './replicas.ts'
import { benchRequests } from './requests.ts'
import { benchResponses } from './responses.ts'
import { benchSockets } from './sockets.ts'
import { benchStart } from './start.ts'
import { benchStores } from './stores.ts'
import { benchStreams } from './streams.ts'
import { writeTables } from './tables.ts'

const PARTS: Readonly<Record<string, (against: readonly string[]) => Promise<void>>> = {
  counts: benchCounts,
  requests: benchRequests,
  start: benchStart,
  approvals: benchApprovals,
  responses: benchResponses,
  sockets: benchSockets,
  stores: benchStores,
  replicas: benchReplicas,
  processes: benchProcesses,
  debug: benchDebug,
  recording: benchRecording,
  agents: benchAgents,
  'child-runs': benchChildRuns,
  reload: benchReload,
  streams: benchStreams,
  pictures: benchPictures,
  library: benchLibrary,
}

const USAGE = `Usage: npm run bench -- [--keep] [--write] [--against <checkout>] [part ...]

Parts: ${Object.keys(PARTS).join(', ')}.
Only when they are named: curves, ${Object.keys(CURVES).join(', ')}.`

interface Arguments {
  readonly names: readonly string[]
  readonly isKept: boolean
  /** Tables go into docs/benchmarks.md. */
  readonly isWritten: boolean
  /** Folders of other checkouts, for parts that compare builds: `requests`, `start`, `counts`, `pictures`. */
  readonly against: readonly string[]
}

/** Parts to run, in order. A name or an option that is not known ends the process. */
function readArguments(): Arguments {
  try {
    const options = {
      keep: { type: 'boolean' },
      write: { type: 'boolean' },
      against: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    } as const
    const { values, positionals } = parseArgs({ allowPositionals: true, options })
    if (values.help) stop(USAGE, 0)
    const named = positionals.flatMap((name) => (name === 'curves' ? Object.keys(CURVES) : name))
    const unknownName = named.find((name) => !(name in PARTS || name in CURVES))
    if (unknownName !== undefined) throw new Error(`There is no part '${unknownName}'.`)
    const unbuilt = values.against?.find((checkout) => !existsSync(new URL('index.js', distOf(checkout))))
    if (unbuilt !== undefined) throw new Error(`${unbuilt} has no build: run npm run build there.`)
    const names = named.length > 0 ? named : Object.keys(PARTS)
    return { names, isKept: values.keep ?? false, isWritten: values.write ?? false, against: values.against ?? [] }
  } catch (error) {
    return stop(`${(error as Error).message}\n\n${USAGE}`, 2)
  }
}

function stop(text: string, exitCode: number): never {
  console.log(text)
  process.exit(exitCode)
}

const { names, isKept, isWritten, against } = readArguments()
for (const name of names) await (PARTS[name] ?? CURVES[name])?.(against)
reportWorse()
if (isWritten) writeTables()
if (isKept) {
  keepRatios()
  keepPins()
}
