import { Flags } from '@oclif/core'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { BaseCommand } from './base-command.ts'
import { runStdioServer } from './server/run-server.ts'

export default class Docs extends BaseCommand {
  static override description =
    'Serves the docs, the modules and this project to a coding agent, as MCP tools that only read.'
  static override examples = ['agent-host docs --mcp', 'agent-host docs --mcp --tenant acme']
  static override flags = {
    mcp: Flags.boolean({ description: 'Serve MCP over standard input and output', required: true }),
    tenant: Flags.string({ description: 'Show the runs of this tenant [default: runs without a tenant]' }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Docs)
    const { serveDocs } = await import('./docs/serve-docs.ts')
    const agentDir = flags['agent-dir'] ?? DEFAULT_AGENT_DIR
    const project = this.isInProject ? { agentDir, tenant: flags.tenant ?? '' } : undefined
    await runStdioServer(async () => serveDocs(project), 0)
  }
}
