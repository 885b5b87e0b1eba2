import type { AgentInfo } from '../../run/agent/agent-info.ts'
import { adapterName } from '../../server/adapters/adapter-name.ts'
import { readApiKeys } from '../../server/guards/api-keys.ts'
import type { ServerOptions } from '../../server/options/options.ts'
import type { AgentServer } from '../../server/server.ts'

/** Maximum number of agents listed. */
const MAX_AGENTS = 20

/** Paths of the built-in adapters, in the order in which they are listed. */
const ENDPOINTS = [
  { adapter: 'ChatCompatApiAdapter', title: 'Chat', path: '/compat/chat/completions' },
  { adapter: 'ResponsesCompatApiAdapter', title: 'Responses', path: '/compat/responses' },
  { adapter: 'McpApiAdapter', title: 'MCP', path: '/mcp' },
  { adapter: 'UiApiAdapter', title: 'Debug UI', path: '/' },
]

/** Page that `dev` serves with any adapters. */
const API_DOCS = { title: 'API docs', path: '/docs' }

/** Lines that `dev` prints when it is ready: addresses, agents, and a request to try. */
export function describeServer({ options, host, problems }: AgentServer, url: string): string[] {
  const agents = host.list()
  return [
    '',
    `agent-host is ready at ${url}`,
    ...listEndpoints(options, url),
    ...listTriggers(agents, options, url),
    '',
    ...describeAgents(agents, problems().length),
    ...listEjected(agents),
    '',
    'Edits in agents/, modules/ and tools/ are live; .env is read at start.',
    ...(serves(options, 'ChatCompatApiAdapter')
      ? exampleRequest(agents.find(hasExamples) ?? agents[0], url, options)
      : ['']),
    process.stdin.isTTY ? 'h help  o open  r restart  c clear  q quit' : 'Ctrl-C stops the server.',
    '',
  ]
}

/** Returns the address of the debug UI, with its token: what stands behind `#` is sent to no server. */
export function debugUiAddress({ uiToken }: ServerOptions, url: string): string {
  return `${url}/${uiToken === undefined ? '' : `#token=${encodeURIComponent(uiToken)}`}`
}

/** Settings for common MCP clients: over HTTP, and for those that start servers themselves. */
export function mcpSnippets(url: string, options: ServerOptions): string[] {
  const address = `${url}/mcp`
  const authorization = bearer(options, options.mcpApiKey, 'MCP_API_KEY')
  const headers = authorization === undefined ? {} : { headers: { Authorization: authorization } }
  const withKey = authorization === undefined ? '' : ` --header "Authorization: ${authorization}"`
  const started = { command: 'agent-host', args: ['mcp', '--stdio'], cwd: process.cwd() }
  return [
    'MCP clients:',
    `  Claude Code   claude mcp add --transport http agent-host ${address}${withKey}`,
    `  VS Code       ${JSON.stringify({ servers: { 'agent-host': { type: 'http', url: address, ...headers } } })}`,
    `  Cursor        ${JSON.stringify({ mcpServers: { 'agent-host': { url: address, ...headers } } })}`,
    `  over stdio    ${JSON.stringify({ mcpServers: { 'agent-host': started } })}`,
  ]
}

export function serves({ adapters, debug }: ServerOptions, name: string): boolean {
  return adapters.some((path) => adapterName(path) === name) || (debug && name === 'UiApiAdapter')
}

function listEndpoints(options: ServerOptions, url: string): string[] {
  const served = [...ENDPOINTS.filter(({ adapter }) => serves(options, adapter)), API_DOCS]
  return served.map(({ title, path }) => {
    return `  ${title.padEnd(9)}  ${path === '/' ? debugUiAddress(options, url) : url + path}`
  })
}

function listTriggers(agents: readonly AgentInfo[], options: ServerOptions, url: string): string[] {
  if (!serves(options, 'TriggersAdapter')) return []
  return agents.flatMap(({ id: agent, triggers = [] }) =>
    triggers.map(({ id }) => `  Trigger    ${url}/triggers/${agent}/${id}`),
  )
}

function describeAgents(agents: readonly AgentInfo[], problems: number): string[] {
  const more = agents.length - MAX_AGENTS
  const listed = agents.slice(0, MAX_AGENTS)
  const width = Math.max(0, ...listed.map((agent) => nameAgent(agent).length))
  const lines = listed.map((agent) => describeAgent(agent, width))
  if (more > 0) lines.push(`  and ${more} more`)
  if (problems > 0) lines.push(`  Problems: ${problems} (see the warnings above). Fix the file and save it.`)
  return lines.length > 0 ? lines : ['  No agents yet. Create one: agent-host new agent <name>']
}

function describeAgent(agent: AgentInfo, width: number): string {
  const { description, file } = agent
  return `  ${nameAgent(agent).padEnd(width)}  ${description}${file ? `  [${file}]` : ''}`
}

/** With its entry points: `desk (desk/refunds)`. */
function nameAgent({ id, entryPoints }: AgentInfo): string {
  return entryPoints.length > 0 ? `${id} (${entryPoints.map((name) => `${id}/${name}`).join(', ')})` : id
}

function listEjected(agents: readonly AgentInfo[]): string[] {
  const ejected = agents.flatMap(({ modules }) => modules.filter(({ source }) => source === 'ejected'))
  const names = [...new Set(ejected.map(({ module }) => module))].sort()
  return names.length === 0 ? [] : [`  Ejected into modules/: ${names.join(', ')}`]
}

function hasExamples({ examples }: AgentInfo): boolean {
  return examples.length > 0
}

function exampleRequest(agent: AgentInfo | undefined, url: string, options: ServerOptions): string[] {
  if (!agent) return ['']
  const question = agent.examples[0] ?? 'What can you do?'
  const body = `{"model": "${agent.id}", "messages": [{"role": "user", "content": ${JSON.stringify(question)}}]}`
  const authorization = bearer(options, options.compatApiKey, 'CUSTOM_COMPAT_API_KEY')
  const auth = authorization === undefined ? [] : [`  -H "Authorization: ${authorization}" \\`]
  return [
    '',
    `curl ${url}/compat/chat/completions \\`,
    '  -H "Content-Type: application/json" \\',
    ...auth,
    `  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
    '',
  ]
}

/** The header that a client sends; undefined without a key. A variable with named keys, or a file of keys, holds more than one. */
function bearer({ keys }: ServerOptions, key: string | undefined, variable: string): string | undefined {
  if (key === undefined && keys === undefined) return undefined
  const isOwn = key !== undefined && readApiKeys(key).every(({ name }) => name === undefined)
  return `Bearer ${isOwn ? `$${variable}` : '<your key>'}`
}
