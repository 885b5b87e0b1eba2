import { PassThrough } from 'node:stream'
import { StdioServerTransport, serveStdio as serveMcp } from '@modelcontextprotocol/server/stdio'
import { makeDescribeFailure } from '../../../assembly/failures.ts'
import { openProject } from '../../../assembly/open-project.ts'
import type { OpenedProject } from '../../../assembly/opened-project.ts'
import { openLog, type ServerLog } from '../../../assembly/project-log.ts'
import { makeAdapterRuns } from '../../../durable/adapter-runs/tenant-runs.ts'
import { makeRedact } from '../../../redaction/redact.ts'
import type { ServerOptions } from '../../options/options.ts'
import { openCallMemory } from './call-memory/open-call-memory.ts'
import { sealFor } from './call-memory/seal-for.ts'
import { makeSdkServer, overStdio } from './sdk-protocol.ts'
import { AgentTools } from './tools/agent-tools.ts'

/** A server whose one client is at the other end of standard input and output. */
export interface StdioServer {
  readonly log: ServerLog
  /** The client has closed its end. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

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
  const connection = connect(project, tools, log)
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('close', resolve)
    process.stdin.once('end', resolve)
  })
  return {
    log,
    ended,
    async close() {
      await project.drain()
      await connection.close()
      await tools.close()
      await project.close()
    },
  }
}

function connect({ host }: OpenedProject, tools: AgentTools, log: ServerLog) {
  const makeServer = () => {
    const server = makeSdkServer(tools, overStdio(log))
    server.onclose = host.onChange(() => void server.sendToolListChanged().catch(() => {}))
    return server
  }
  // Goes on after the end of the input: the SDK would abort the calls that run, whose answers may still be read.
  const input = process.stdin.pipe(new PassThrough(), { end: false })
  return serveMcp(makeServer, { transport: new StdioServerTransport(input, process.stdout) })
}
