import { Flags } from '@oclif/core'
import { messageOf } from '../errors.ts'
import { SCHEMA_FILE } from '../project/schema-file.ts'
import type { AgentInfo } from '../run/agent.ts'
import { adapterName } from '../server/adapter-name.ts'
import type { ServerOptions } from '../server/options.ts'
import type { AgentServer } from '../server/server.ts'
import { BaseCommand } from './base-command.ts'
import { runServer } from './run-server.ts'
import { fillSwitches, readServerFlags, serverFlags } from './server-flags.ts'

const DEFAULTS = { port: 9001, adapters: ['ChatCompatApiAdapter'], debug: true }
/** Saves come in groups. */
const SCHEMA_AFTER_MS = 300
/** How many agents the banner lists. */
const MAX_AGENTS = 20

export default class Dev extends BaseCommand {
  static override description =
    'Serves the agents of this project for development: every edit is followed, every step shown.'
  static override examples = ['<%= config.bin %> dev', '<%= config.bin %> dev --port 9100 --open']
  static override flags = {
    ...serverFlags(DEFAULTS),
    open: Flags.boolean({ description: 'Open the address in a browser' }),
  }

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { flags } = await this.parse(Dev)
    await runServer(readServerFlags(flags, DEFAULTS), (server, url) => {
      for (const line of describeServer(server, url)) this.log(line)
      followSchema(server)
      if (flags.open) void openBrowser(url)
      stopOnQ()
    })
  }
}

function describeServer(server: AgentServer, url: string): string[] {
  const { options } = server
  const agents = server.host.list()
  return [
    '',
    `agent-host is ready at ${url}`,
    ...(options.debug ? ['Open it in a browser to see every step of every run; without one: agent-host runs'] : []),
    '',
    ...describeAgents(agents, server.agents.problems().length),
    ...listEjected(agents),
    '',
    'Edits in agents/, modules/ and tools/ are served at once; .env is read at start.',
    ...(serves(options, 'ChatCompatApiAdapter') ? exampleRequest(agents[0], url, options.compatApiKey) : ['']),
    ...(serves(options, 'McpApiAdapter') ? mcpSnippets(url, options.mcpApiKey) : []),
    process.stdin.isTTY ? 'q quits.' : 'Ctrl-C quits.',
    '',
  ]
}

function describeAgents(agents: readonly AgentInfo[], problems: number): string[] {
  const more = agents.length - MAX_AGENTS
  const lines = agents.slice(0, MAX_AGENTS).map(describeAgent)
  if (more > 0) lines.push(`  and ${more} more`)
  if (problems > 0) lines.push(`  Not served: see the warnings above (${problems}). An edit of the file is enough.`)
  return lines.length > 0 ? lines : ['  There is no agent yet: put a YAML file into agents/.']
}

function listEjected(agents: readonly AgentInfo[]): string[] {
  const ejected = agents.flatMap(({ modules }) => modules.filter(({ source }) => source === 'ejected'))
  const names = [...new Set(ejected.map(({ module }) => module))].sort()
  return names.length === 0 ? [] : [`  Ejected into modules/: ${names.join(', ')}`]
}

function describeAgent({ id, description, entryPoints, file }: AgentInfo): string {
  const entries = entryPoints.length > 0 ? ` (${entryPoints.map((name) => `${id}/${name}`).join(', ')})` : ''
  return `  ${id}${entries}  ${description}${file ? `  [${file}]` : ''}`
}

function exampleRequest(agent: AgentInfo | undefined, url: string, key: string | undefined): string[] {
  if (!agent) return ['']
  const body = `{"model": "${agent.id}", "messages": [{"role": "user", "content": "What time is it in Tokyo?"}]}`
  const auth = key === undefined ? [] : ['  -H "Authorization: Bearer $CUSTOM_COMPAT_API_KEY" \\']
  return [
    '',
    `curl ${url}/compat/chat/completions \\`,
    '  -H "Content-Type: application/json" \\',
    ...auth,
    `  -d '${body}'`,
    '',
  ]
}

function serves({ adapters }: ServerOptions, name: string): boolean {
  return adapters.some((path) => adapterName(path) === name)
}

/** How the common MCP clients are told of this server, and how those that start servers themselves start one. */
function mcpSnippets(url: string, key: string | undefined): string[] {
  const address = `${url}/mcp`
  const headers = key === undefined ? {} : { headers: { Authorization: 'Bearer $MCP_API_KEY' } }
  const withKey = key === undefined ? '' : ' --header "Authorization: Bearer $MCP_API_KEY"'
  const started = { command: 'agent-host', args: ['mcp', '--stdio'], cwd: process.cwd() }
  return [
    'For MCP clients:',
    `  Claude Code   claude mcp add --transport http agent-host ${address}${withKey}`,
    `  VS Code       ${JSON.stringify({ servers: { 'agent-host': { type: 'http', url: address, ...headers } } })}`,
    `  Cursor        ${JSON.stringify({ mcpServers: { 'agent-host': { url: address, ...headers } } })}`,
    `  over stdio    ${JSON.stringify({ mcpServers: { 'agent-host': started } })}`,
    '',
  ]
}

/** Keeps what editors know of agent files in step with the modules that there are. */
function followSchema({ agents, options, app }: AgentServer): void {
  const keep = async () => {
    const { keepSchema } = await import('../project/keep-schema.ts')
    await keepSchema(options.projectDir).catch((error: unknown) => {
      app.log.warn(`${SCHEMA_FILE} could not be written: ${messageOf(error)}`)
    })
  }
  const timer = setTimeout(keep, SCHEMA_AFTER_MS).unref()
  // Saves come in groups: each begins the wait anew.
  agents.onLoad(() => void timer.refresh())
}

/** The system's own opener; where there is none, the address stands on the screen. */
async function openBrowser(url: string): Promise<void> {
  const { execa } = await import('execa')
  const [command, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  await execa(command as string, [...args, url], { reject: false, stdio: 'ignore' })
}

function stopOnQ(): void {
  const { stdin } = process
  if (!stdin.isTTY) return
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', (keys) => {
    // In raw mode Ctrl-C is a key like any other.
    if (keys.includes('q') || keys.includes('\u0003')) process.emit('SIGINT')
  })
}
