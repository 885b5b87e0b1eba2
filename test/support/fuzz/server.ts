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
    { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter'], debug: true },
    {
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
  if (!server.host.get('hostile')) throw new Error('The hostile agent was not loaded.')
  return { ...server, url: await server.listen() }
}
