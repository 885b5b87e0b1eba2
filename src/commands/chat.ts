import { text } from 'node:stream/consumers'
import { Args, Flags } from '@oclif/core'
import { didYouMean } from '../definition/nearest-name.ts'
import { badOption, HostError } from '../errors.ts'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { cleanText } from '../wire/clean-text.ts'
import { nameAsker } from '../wire/name-asker.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { BaseCommand } from './base-command.ts'
import type { Backend, ChatAgent } from './chat/backend.ts'
import { describeWaiting } from './terminal/describe-waiting.ts'
import { formatCall } from './terminal/format-call.ts'
import { askOne, canAsk } from './terminal/prompts.ts'

export default class Chat extends BaseCommand {
  static override description =
    'Talks to an agent in the terminal. Without a terminal, it reads the question from standard input.'
  static override examples = [
    'agent-host chat',
    'agent-host chat example --once "What time is it in Tokyo?"',
    'cat notes.md | agent-host chat example --json',
    'agent-host chat example --url http://127.0.0.1:9001',
  ]
  static override args = {
    agent: Args.string({
      description: 'Agent, or <agent>/<entry point>; can be left out when there is only one',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    once: Flags.string({
      description: 'Ask one question, print the answer and exit; - reads it from standard input',
      helpValue: '<question>',
    }),
    json: Flags.boolean({
      description: 'Print answer, tool calls and attachments as JSON (with --once or standard input)',
    }),
    url: Flags.string({
      description: 'Server to talk to, such as http://127.0.0.1:9001; without it the agents run in this process',
      helpGroup: 'server',
    }),
    'api-key': Flags.string({
      description: 'API key of the server: of its responses adapter, which shows tool calls, or of its chat adapter',
      env: SERVER_OPTIONS.compatApiKey.variable,
      helpGroup: 'server',
    }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Chat)
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY
    const isOnce = flags.once !== undefined || !isTerminal
    if (flags.json && !isOnce) throw badOption('--json needs --once "<question>".')
    const backend = await this.#open(flags)
    try {
      const agent = await chooseAgent(backend, args.agent)
      if (isOnce) await this.#askOnce(backend, agent, await readQuestion(flags.once), flags.json)
      else await (await import('./chat/converse.ts')).converse(backend, agent)
    } finally {
      await backend.close()
    }
    // A module may hold something open that is not awaited.
    this.exit(0)
  }

  async #open(flags: { url?: string; 'api-key'?: string; 'agent-dir'?: string }): Promise<Backend> {
    if (flags.url !== undefined) {
      const { openRemote } = await import('./chat/open-remote.ts')
      return openRemote(flags.url, flags['api-key'])
    }
    this.requireProject()
    const { openLocal } = await import('./chat/open-local.ts')
    return openLocal(flags['agent-dir'] ?? DEFAULT_AGENT_DIR)
  }

  async #askOnce(backend: Backend, agent: string, question: string, isJson: boolean): Promise<void> {
    const isShown = process.stderr.isTTY && !isJson
    const answer = await backend.open(agent).ask(question, {
      signal: new AbortController().signal,
      onText: (said) => void (isJson || process.stdout.write(process.stdout.isTTY ? cleanText(said) : said)),
      onCall: (name, args) => isShown && this.logToStderr(`→ ${formatCall(name, args)}`),
      onCallEnd: () => {},
    })
    const { text: said, runId, toolCalls, attachments, waitsFor } = answer
    if (isJson) {
      const waiting = waitsFor.length > 0 ? { waits_for: waitsFor } : {}
      const files = attachments.length > 0 ? { attachments } : {}
      return this.printJson({ agent, run_id: runId, text: said, tool_calls: toolCalls, ...files, ...waiting })
    }
    this.log('')
    for (const call of waitsFor)
      this.logToStderr(`${nameAsker(call.asker ?? { agent, askedBy: [] })} ${describeWaiting(call)}`)
    if (waitsFor.length > 0) this.logToStderr(`  ${backend.howToDecide(agent)}`)
  }
}

async function readQuestion(once: string | undefined): Promise<string> {
  const question = once === undefined || once === '-' ? await text(process.stdin) : once
  if (question.trim() !== '') return question.trim()
  throw badOption('The question is empty.', {
    suggestions: ['agent-host chat <agent> --once "<question>"', 'echo "<question>" | agent-host chat <agent>'],
  })
}

/** The agent that was named, the only one there is, or the one that the user picks. */
async function chooseAgent(backend: Backend, named: string | undefined): Promise<string> {
  const agents = await backend.agents()
  if (agents === undefined) {
    if (named !== undefined) return named
    const suggestions = ['agent-host chat <agent> --url <url>']
    throw badOption('Name the agent: this server lists none to this key.', { suggestions })
  }
  const ids = agents.map(({ id }) => id)
  // A server may know more names than it lists.
  if (named !== undefined && (ids.includes(named) || named.includes('/'))) return named
  const known = ids.length > 0 ? [`Agents: ${ids.join(', ')}`] : ['Create one: agent-host new agent <name>']
  if (named !== undefined) {
    const suggestions = [...didYouMean(named, ids), ...known]
    throw new HostError('AGENT_NOT_FOUND', `There is no agent '${named}'.`, { suggestions })
  }
  const [first] = ids
  if (first === undefined) throw new HostError('AGENT_NOT_FOUND', 'There are no agents.', { suggestions: known })
  const [only, ...others] = ids.filter((id) => !id.includes('/'))
  if (only !== undefined && others.length === 0) return only
  if (canAsk()) return pickAgent(agents)
  throw badOption('Name the agent: there are several.', { suggestions: known })
}

async function pickAgent(agents: readonly ChatAgent[]): Promise<string> {
  const width = Math.max(...agents.map(({ id }) => id.length))
  const choices = agents.map(({ id, description: about }) => ({
    name: `${id.padEnd(width)}  ${about}`,
    value: id,
    short: id,
  }))
  return askOne('Agent:', choices)
}
