import { Args, Flags } from '@oclif/core'
import { didYouMean } from '../definition/nearest-name.ts'
import { badOption, HostError, messageOf } from '../errors.ts'
import { providersOf } from '../host/providers-of.ts'
import { isObject } from '../json.ts'
import { ToolProvider } from '../protocols/tool-provider.ts'
import { toAttachmentJson } from '../run/attachment-json.ts'
import { foldStack } from '../run/calls/fold-stack.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { type OpenAgents, openAgents, stderrLog } from './agents/open-agents.ts'
import { BaseCommand } from './base-command.ts'
import type { FoundTool, ToolCallOutcome } from './tool/call-tool.ts'

type Arguments = Readonly<Record<string, unknown>>

export default class Tool extends BaseCommand {
  static override description = 'Calls one tool of an agent without a model; without a name, lists the tools.'
  static override examples = [
    'agent-host tool',
    `agent-host tool currentTime '{"timezone": "Asia/Tokyo"}'`,
    'agent-host tool findOrder --agent support --json',
  ]
  static override args = {
    name: Args.string({ description: 'Tool to call', ignoreStdin: true }),
    arguments: Args.string({ description: 'Its arguments, a JSON object', default: '{}', ignoreStdin: true }),
  }
  static override flags = {
    agent: Flags.string({ description: 'Agent whose tool to call; needed only if several have a tool of that name' }),
    json: Flags.boolean({ description: 'Print the result, or the list with its schemas, as JSON' }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Tool)
    const given = readArguments(args.arguments)
    this.requireProject()
    const agents = await openAgents(flags['agent-dir'] ?? DEFAULT_AGENT_DIR, { log: stderrLog })
    let exitCode = 0
    try {
      const tools = await findTools(agents, flags.agent)
      if (args.name === undefined) this.#list(tools, flags.json, () => describeNone(agents, flags.agent))
      else exitCode = await this.#call(agents, pickTool(args.name, tools), given, flags.json)
    } finally {
      await agents.close()
    }
    // A module may hold something open that is not awaited.
    this.exit(exitCode)
  }

  #list(tools: readonly FoundTool[], isJson: boolean, sayNone: () => string): void {
    if (isJson) this.printJson({ tools })
    else if (tools.length === 0) this.log(sayNone())
    else this.logLines(describeTools(tools))
  }

  /** @returns the exit code */
  async #call(agents: OpenAgents, tool: FoundTool, given: Arguments, isJson: boolean): Promise<number> {
    const { callTool } = await import('./tool/call-tool.ts')
    // Only now: the calls that list the tools are of no interest to a reader of traces.
    await agents.trace()
    const outcome = await callTool(agents, tool, given)
    if (isJson) this.printJson(toJson(tool, given, outcome))
    else if (outcome.isError) this.logToStderr(describeError(outcome))
    else this.log(outcome.text)
    return outcome.isError ? 1 : 0
  }
}

function describeTools(tools: readonly FoundTool[]): string[] {
  const width = Math.max(...tools.map(({ name }) => name.length))
  return tools.map(
    ({ name, description: about, agent }) => `${name.padEnd(width)}  ${about.split('\n')[0]}  [${agent}]`,
  )
}

/** Message that no module offers a tool, with the modules that could. */
function describeNone({ host }: OpenAgents, named: string | undefined): string {
  const infos = host.list().filter(({ id }) => named === undefined || id === named)
  const asked = infos.flatMap(({ id }) => providersOf(host, id, ToolProvider).map((module) => `${id}/${module}`))
  if (asked.length > 0) return `No tools: ${asked.join(', ')} ${asked.length === 1 ? 'offers' : 'offer'} none.`
  const who = named === undefined ? 'No agent has' : `Agent '${named}' has no module with`
  return `${who} tools. Create one: agent-host new tool <name>`
}

function toJson({ name, agent }: FoundTool, given: Arguments, outcome: ToolCallOutcome): object {
  const { text, data, isError, attachments = [] } = outcome
  const files = attachments.length === 0 ? {} : { attachments: attachments.map(toAttachmentJson) }
  return { name, agent, arguments: given, ...(isError ? { error: text } : { result: data ?? text }), ...files }
}

function describeError({ exception, text }: ToolCallOutcome): string {
  const folded = exception === undefined ? text : foldStack(exception, { projectDir: process.cwd() })
  // Where no frame is the project's, the others lead nowhere.
  const shown = folded.replace(/ \(\+\d+ internal frames?\)$/, '')
  return /^\w*Error: /.test(shown) ? shown : `Error: ${shown}`
}

function readArguments(raw: string): Arguments {
  const wrong = (reason: string, cause?: unknown) =>
    badOption(`The arguments must be a JSON object: ${reason}`, {
      suggestions: [`agent-host tool <name> '{"city": "Lima"}'`],
      cause,
    })
  let value: unknown
  try {
    value = JSON.parse(raw)
  } catch (cause) {
    throw wrong(messageOf(cause), cause)
  }
  if (isObject(value)) return value
  throw wrong(`not ${raw}`)
}

async function findTools(agents: OpenAgents, named: string | undefined): Promise<FoundTool[]> {
  const { listTools } = await import('./tool/call-tool.ts')
  const ids = agents.host.list().map(({ id }) => id)
  if (named !== undefined && !ids.includes(named)) {
    const suggestions = [...didYouMean(named, ids), `Agents: ${ids.join(', ') || 'none'}`]
    throw new HostError('AGENT_NOT_FOUND', `There is no agent '${named}'.`, { suggestions })
  }
  const tools: FoundTool[] = []
  for (const id of named === undefined ? ids : [named]) tools.push(...(await listTools(agents, id)))
  return tools
}

function pickTool(name: string, tools: readonly FoundTool[]): FoundTool {
  const [found, ...others] = tools.filter((tool) => tool.name === name)
  if (!found) {
    const names = [...new Set(tools.map((tool) => tool.name))]
    const suggestions = [...didYouMean(name, names), `Tools: ${names.join(', ') || 'none'}`]
    throw badOption(`No agent has a tool '${name}'.`, { suggestions })
  }
  // The same tool in several agents is one tool.
  if (others.every((other) => JSON.stringify(other.parameters) === JSON.stringify(found.parameters))) return found
  const owners = [found, ...others].map(({ agent }) => agent)
  throw badOption(`Several agents have a tool '${name}'.`, {
    suggestions: owners.map((agent) => `agent-host tool ${name} --agent ${agent}`),
  })
}
