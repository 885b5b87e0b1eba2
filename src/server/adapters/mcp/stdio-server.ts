import { makeDescribeFailure } from '../../../assembly/failures.ts'
import { openProject } from '../../../assembly/open-project.ts'
import { openLog } from '../../../assembly/project-log.ts'
import { makeAdapterRuns } from '../../../durable/adapter-runs/tenant-runs.ts'
import { makeRedact } from '../../../redaction/redact.ts'
import type { ServerOptions } from '../../options/options.ts'
import { openCallMemory } from './call-memory/open-call-memory.ts'
import { sealFor } from './call-memory/seal-for.ts'
import { makeSdkServer, overStdio } from './sdk-protocol.ts'
import { connectStdio, type StdioServer } from './stdio-connection.ts'
import { AgentTools } from './tools/agent-tools.ts'

/**
 * Serves the agents of a project as MCP tools over standard input and output, and picks up edits live. Logs go to standard error.
 *
 * @throws HostError `PROJECT_INVALID`, `OPTION_INVALID`, `STORE_UNAVAILABLE` for a store of another format
 */
export async function serveStdio(options: ServerOptions): Promise<StdioServer> {
  const redact = makeRedact(process.env)
  const log = await openLog(options, redact, 2)
  const project = await openProject(options, { redact, log })
  await project.durableRuns.resume().catch(async (error) => {
    await project.close()
    throw error
  })
  await project.watch()
  const describeFailure = makeDescribeFailure(options.debug, redact)
  const memory = openCallMemory(options, project.openRecords)
  const { host } = project
  const runs = makeAdapterRuns(project.durableRuns, host, 'McpApiAdapter')
  const parts = {
    host,
    describeFailure,
    redact,
    limits: options,
    memory,
    runs,
    seal: sealFor(project.durableRuns),
    servesInbox: false,
  }
  const tools = new AgentTools(parts)
  const connection = connectStdio(() => {
    const server = makeSdkServer(tools, overStdio(log))
    server.onclose = host.onChange(() => void server.sendToolListChanged().catch(() => {}))
    return server
  })
  return {
    log,
    ended: connection.ended,
    async close() {
      await project.drain()
      await connection.close()
      await tools.close()
      await project.close()
    },
  }
}
