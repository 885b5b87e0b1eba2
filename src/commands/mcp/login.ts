import { Args, Flags } from '@oclif/core'
import { didYouMean } from '../../definition/nearest-name.ts'
import { badOption } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import { fieldsOf } from '../../json.ts'
import { ToolProvider } from '../../protocols/tool-provider.ts'
import { agentDirFlag } from '../agents/agent-dir-flag.ts'
import { stderrLog } from '../agents/open-agents.ts'
import { BaseCommand } from '../base-command.ts'
import { pickServerFlags, readServerFlags } from '../server/server-flags.ts'

/** Server that wants a sign-in, of a module of an agent. */
interface FoundServer {
  readonly agent: string
  readonly module: string
  readonly name: string
  readonly tool: string
}

export default class McpLogin extends BaseCommand {
  static override description =
    'Signs in to an MCP server in your browser, for every agent of this project that uses it. Without it, the first run that needs the server asks.'
  static override examples = ['agent-host mcp login issues', 'agent-host mcp login issues --agent desk']
  static override args = {
    server: Args.string({ description: 'Name of the server in the agent files', required: true }),
  }
  static override flags = {
    agent: Flags.string({ description: 'Only for this agent', helpValue: '<id>' }),
    'callback-port': Flags.integer({
      description: 'Port to which the browser returns, for servers that accept only one address [default: a free one]',
      default: 0,
      helpValue: '<port>',
    }),
    ...pickServerFlags(['store', 'responses-dir', 'secret-key']),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(McpLogin)
    const { agent, 'callback-port': port, ...others } = flags
    this.requireProject()
    const [{ openProject }, { awaitCallback }] = await Promise.all([
      import('../../assembly/open-project.ts'),
      import('./await-callback.ts'),
    ])
    const callback = await awaitCallback(port)
    const options = { ...readServerFlags(others), publicUrl: callback.publicUrl, noWorker: true }
    const project = await openProject(options, { log: stderrLog }).catch((error) => {
      callback.close()
      throw error
    })
    try {
      for (const server of findServers(project.host, args.server, agent)) {
        const result = await project.host.callModule(server.agent, {
          moduleId: server.module,
          protocol: ToolProvider,
          act: (tools, run) => tools.executeTool(server.tool, {}, run),
          onQuestion: ({ url = '' }) => {
            this.log(`Open this address to sign in to '${server.name}' for the agent '${server.agent}':\n\n  ${url}\n`)
            return callback.queryFor(new URL(url).searchParams.get('state') ?? '')
          },
        })
        this.log(`${server.agent}: ${result?.text ?? 'An approval is needed first.'}`)
      }
    } finally {
      callback.close()
      await project.close()
    }
  }
}

/** @throws HostError `OPTION_INVALID` where no agent has such a server */
function findServers(host: AgentHost, name: string, agent: string | undefined): FoundServer[] {
  const agents = host.list().filter(({ id }) => agent === undefined || id === agent)
  const all = agents.flatMap(({ id }) => (host.describe(id)?.modules ?? []).flatMap((each) => serversOf(id, each)))
  const found = all.filter((server) => server.name === name)
  if (found.length > 0) return found
  const names = [...new Set(all.map((server) => server.name))]
  throw badOption(`No agent has an MCP server '${name}' with oauth.`, {
    suggestions: [...didYouMean(name, names), `Servers with oauth: ${names.join(', ') || 'none'}`],
  })
}

function serversOf(agent: string, { id, config }: { readonly id: string; readonly config: unknown }): FoundServer[] {
  const { servers } = fieldsOf(config)
  if (!Array.isArray(servers)) return []
  return servers.flatMap(({ name, prefix = '', oauth }: Record<string, unknown>) =>
    typeof name === 'string' && oauth !== undefined
      ? [{ agent, module: id, name, tool: `${prefix}sign_in_${name}` }]
      : [],
  )
}
