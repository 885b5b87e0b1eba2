import { fileURLToPath } from 'node:url'
import { makeServer } from '../server.ts'
import { HOSTILE_MODEL } from './hostile-model.ts'

export interface FuzzedServer extends Awaited<ReturnType<typeof makeServer>> {
  /** Where it listens. */
  readonly url: string
}

const MCP_SERVER = fileURLToPath(new URL('./hostile-mcp-server.js', import.meta.url))

/** A server with every adapter, and an agent whose model and MCP server are hostile. */
export async function makeFuzzedServer(seed: number): Promise<FuzzedServer> {
  const server = await makeServer(
    {
      adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter'],
      debug: true,
      development: true,
    },
    {
      'agents/notes.yml': `id: notes
expose: [conversations, memory]
conversation: true
modules:
  - { id: main, module: echo }
  - { id: memory, module: memory/vector-memory }
  - { id: index, module: memory/exact-index }
  - { id: embedder, module: embedder/local }`,
      'modules/hostile.ts': HOSTILE_MODEL,
      'agents/hostile.yml': `id: hostile
modules:
  - { id: llm, module: hostile }
  - id: tools
    module: tools/mcp
    config: { servers: [{ name: bad, command: node, args: ['${MCP_SERVER}', '${seed}'], timeout: 2 }], connect_timeout: 2 }
  - { id: loop, module: orchestrator/tool-loop, config: { max_steps: 6 } }`,
    },
  )
  for (const id of ['hostile', 'notes']) if (!server.host.get(id)) throw new Error(`The agent '${id}' was not loaded.`)
  return { ...server, url: await server.listen() }
}
