import { McpServer } from '@modelcontextprotocol/server'
import { SERVER_INFO } from '../../server/adapters/mcp/server-info.ts'
import { connectStdio, type StdioServer } from '../../server/adapters/mcp/stdio-connection.ts'
import { stderrLog } from '../agents/open-agents.ts'
import { addsTo } from './add-tool.ts'
import { addDocsTools } from './docs-tools.ts'
import { addProjectTools, type ShownProject } from './project-tools.ts'

/** Serves tools that read the docs, and a project where there is one, over standard input and output. */
export function serveDocs(project: ShownProject | undefined): StdioServer {
  const makeServer = () => {
    const server = new McpServer(SERVER_INFO)
    addDocsTools(addsTo(server), project !== undefined)
    if (project) addProjectTools(addsTo(server), project)
    return server
  }
  return { log: stderrLog, ...connectStdio(makeServer) }
}
