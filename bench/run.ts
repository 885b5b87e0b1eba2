// Runs the benchmarks that docs/benchmarks.md explains: all of them, or the parts that are named. `curves` and each of its parts run
// only when they are named: they write the plots of docs/growth.md. `--keep` keeps the ratios as those
// of a release; `BENCH_BEFORE=<checkout>` compares with the build of another checkout.
import { parseArgs } from 'node:util'
import { benchAgents } from './agents.ts'
import { benchApprovals } from './approvals.ts'
import { benchChat } from './chat.ts'
import { CURVES } from './curves.ts'
import { benchDebug } from './debug.ts'
import { benchLibrary } from './library.ts'
import { benchMcp } from './mcp.ts'
import { benchPictures } from './pictures.ts'
import { benchProcesses } from './processes.ts'
import { keepRatios, reportWorse } from './ratios.ts'
import { benchReload } from './reload.ts'
import { benchReplicas } from './replicas.ts'
import { benchResponses } from './responses.ts'
import { benchSockets } from './sockets.ts'
import { benchStores } from './stores.ts'
import { benchStreams } from './streams.ts'

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  chat: benchChat,
  approvals: benchApprovals,
  responses: benchResponses,
  sockets: benchSockets,
  stores: benchStores,
  replicas: benchReplicas,
  processes: benchProcesses,
  mcp: benchMcp,
  debug: benchDebug,
  agents: benchAgents,
  reload: benchReload,
  streams: benchStreams,
  pictures: benchPictures,
  library: benchLibrary,
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { keep: { type: 'boolean' } } })
const named = positionals.flatMap((name) => (name === 'curves' ? Object.keys(CURVES) : name))
for (const name of named.length > 0 ? named : Object.keys(PARTS)) {
  const part = PARTS[name] ?? CURVES[name]
  if (!part) {
    const names = [...Object.keys(PARTS), 'curves', ...Object.keys(CURVES)]
    throw new Error(`There is no part '${name}' of the bench: ${names.join(', ')}.`)
  }
  await part()
}
reportWorse()
if (values.keep) keepRatios()
