// What is measured, and against what, stands in docs/benchmarks.md. `npm run bench -- chat` runs one part.
import { benchAgents } from './agents.ts'
import { benchChat } from './chat.ts'
import { benchDebug } from './debug.ts'
import { benchLibrary } from './library.ts'
import { benchMcp } from './mcp.ts'
import { benchReload } from './reload.ts'
import { benchResponses } from './responses.ts'
import { benchStores } from './stores.ts'
import { benchStreams } from './streams.ts'

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  chat: benchChat,
  responses: benchResponses,
  stores: benchStores,
  mcp: benchMcp,
  debug: benchDebug,
  agents: benchAgents,
  reload: benchReload,
  streams: benchStreams,
  library: benchLibrary,
}

const asked = process.argv.slice(2)
for (const name of asked.length > 0 ? asked : Object.keys(PARTS)) {
  const part = PARTS[name]
  if (!part) throw new Error(`There is no part '${name}' of the bench: ${Object.keys(PARTS).join(', ')}.`)
  await part()
}
