// Runs the benchmarks that docs/benchmarks.md explains: all of them, or the parts that are named. `curves` and each of its parts run
// only when they are named: they write the plots of docs/growth.md. `--keep` keeps the ratios as those
// of a release, and the counts as pins of a test; `BENCH_BEFORE=<checkout>` compares with the build of another checkout.
import { parseArgs } from 'node:util'
import { benchAgents } from './agents.ts'
import { benchApprovals } from './approvals.ts'
import { benchChat } from './chat.ts'
import { benchChildRuns } from './child-runs.ts'
import { benchCounts } from './counts.ts'
import { CURVES } from './curves.ts'
import { benchDebug } from './debug.ts'
import { benchLibrary } from './library.ts'
import { benchMcp } from './mcp.ts'
import { benchPictures } from './pictures.ts'
import { keepPins } from './pins.ts'
import { benchProcesses } from './processes.ts'
import { keepRatios, reportWorse } from './ratios.ts'
import { benchRecording } from './recording.ts'
import { benchReload } from './reload.ts'
import { benchReplicas } from './replicas.ts'
import { benchResponses } from './responses.ts'
import { benchSockets } from './sockets.ts'
import { benchStores } from './stores.ts'
import { benchStreams } from './streams.ts'

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  counts: benchCounts,
  chat: benchChat,
  approvals: benchApprovals,
  responses: benchResponses,
  sockets: benchSockets,
  stores: benchStores,
  replicas: benchReplicas,
  processes: benchProcesses,
  mcp: benchMcp,
  debug: benchDebug,
  recording: benchRecording,
  agents: benchAgents,
  'child-runs': benchChildRuns,
  reload: benchReload,
  streams: benchStreams,
  pictures: benchPictures,
  library: benchLibrary,
}

const USAGE = `Usage: npm run bench -- [--keep] [part ...]

Parts: ${Object.keys(PARTS).join(', ')}.
Only when they are named: curves, ${Object.keys(CURVES).join(', ')}.`

/** Parts to run, in order. A name or an option that is not known ends the process. */
function readArguments(): { readonly names: readonly string[]; readonly isKept: boolean } {
  try {
    const options = { keep: { type: 'boolean' }, help: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ allowPositionals: true, options })
    if (values.help) stop(USAGE, 0)
    const named = positionals.flatMap((name) => (name === 'curves' ? Object.keys(CURVES) : name))
    const unknownName = named.find((name) => !(name in PARTS || name in CURVES))
    if (unknownName !== undefined) throw new Error(`There is no part '${unknownName}'.`)
    return { names: named.length > 0 ? named : Object.keys(PARTS), isKept: values.keep ?? false }
  } catch (error) {
    return stop(`${(error as Error).message}\n\n${USAGE}`, 2)
  }
}

function stop(text: string, exitCode: number): never {
  console.log(text)
  process.exit(exitCode)
}

const { names, isKept } = readArguments()
for (const name of names) await (PARTS[name] ?? CURVES[name])?.()
reportWorse()
if (isKept) {
  keepRatios()
  keepPins()
}
