import { Flags } from '@oclif/core'
import { badOption } from '../errors.ts'
import { agentDirFlag } from './agents/agent-dir-flag.ts'
import { BaseCommand } from './base-command.ts'
import { runStdioServer } from './server/run-server.ts'
import { fillSwitches, pickServerFlags, readServerFlags, serverFlags, tracingFlag } from './server/server-flags.ts'

const { 'log-level': logLevel, 'drain-timeout': drain } = serverFlags()

export default class Mcp extends BaseCommand {
  static override description = 'Serves the agents of this project as MCP tools to a client that starts this command.'
  static override examples = ['agent-host mcp --stdio']
  static override flags = {
    stdio: Flags.boolean({ description: 'Use standard input and output. For HTTP, serve McpApiAdapter.' }),
    'log-level': logLevel as NonNullable<typeof logLevel>,
    ...tracingFlag(),
    ...pickServerFlags(['store', 'responses-dir', 'secret-key', 'audit-log']),
    'agent-dir': agentDirFlag,
    'drain-timeout': drain as NonNullable<typeof drain>,
  }

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { flags } = await this.parse(Mcp)
    if (!flags.stdio) {
      throw badOption('--stdio is missing: this command serves only over standard input and output.', {
        suggestions: ['agent-host mcp --stdio', 'Over HTTP: agent-host serve --adapter McpApiAdapter'],
      })
    }
    const options = readServerFlags(flags)
    this.requireProject()
    const { serveStdio } = await import('../server/adapters/mcp/stdio-server.ts')
    await runStdioServer(() => serveStdio(options), options.drainTimeout)
  }
}
