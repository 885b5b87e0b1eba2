import { serveStdio as serveMcp } from '@modelcontextprotocol/server/stdio'
import { AgentFolder } from '../host/agent-folder.ts'
import { AgentHost } from '../host/host.ts'
import { watchAgents } from '../host/watch-agents.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import { makeRedact } from '../trace/redact.ts'
import { AgentTools } from './adapters/mcp/agent-tools.ts'
import { makeSdkServer } from './adapters/mcp/sdk-protocol.ts'
import { makeDescribeFailure } from './error-replies.ts'
import { openTraces } from './open-traces.ts'
import type { ServerOptions } from './options.ts'
import { makeLog, type ServerLog } from './server-log.ts'

/** A server whose one client is at the other end of standard input and output. */
export interface StdioServer {
  readonly log: ServerLog
  /** The client has closed its end. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/**
 * Serves the agents of a project as MCP tools over standard input and output, and follows edits. Logs go to standard error.
 *
 * @throws HostError `PROJECT_INVALID`, `OPTION_INVALID`
 */
export async function serveStdio(options: ServerOptions): Promise<StdioServer> {
  const redact = makeRedact(process.env)
  const log = await makeLog(options, redact, 2)
  const { projectDir, maxConcurrentRuns, agentDir, debug, drainTimeout } = options
  const host = new AgentHost({ projectDir, log, maxConcurrentRuns })
  const traces = debug ? await openTraces(options, redact, log) : undefined
  traces?.follow(host)
  const stopTracing = await startTracing(host, log, redact)
  const agents = new AgentFolder(host, agentDir, log)
  await agents.scan()
  const tools = new AgentTools({ host, describeFailure: makeDescribeFailure(debug, redact), log })
  const watching = await watchAgents(host, agents, log)
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const connection = serveMcp(() => {
    const server = makeSdkServer(tools, 'stdio')
    const stop = host.onChange(() => void server.sendToolListChanged().catch(() => {}))
    server.onclose = stop
    return server
  })
  process.stdin.once('close', end)
  process.stdin.once('end', end)
  return {
    log,
    ended,
    async close() {
      await watching.close()
      await host.close(drainTimeout * 1000)
      await connection.close()
      await traces?.close()
      await stopTracing()
    },
  }
}
