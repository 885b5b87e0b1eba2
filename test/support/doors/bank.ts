import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * An agent whose model does what the last message says, `<conversation> <command> <number>`, and a clerk that it calls. What it says and
 * calls follows from the history alone, so any server can go on. Model and tools write a ledger of each conversation,
 * `ledger/<conversation>.jsonl`: histories as they were sent (`asked`), and what was done (`did`).
 */
export const BANK = {
  'agents/bank.yml': `id: bank
approval_ttl: 86400
modules:
  - { id: llm, module: teller }
  - { id: till, module: till }
  - { id: team, module: tools/agents, config: { agents: [clerk] } }
  - { id: main, module: orchestrator/tool-loop }`,
  'agents/clerk.yml': `id: clerk
modules:
  - { id: llm, module: teller }
  - { id: till, module: till }
  - { id: main, module: orchestrator/tool-loop }`,
  'modules/teller.ts': `import { appendFileSync } from 'node:fs'
import { defineModule, LLM } from 'agent-host'
const call = (name, n) => ({ name, n })
const STEPS = {
  say: () => [], pay: (n) => [call('pay', n)], both: (n) => [call('pay', n), call('pay', n + 1)], look: (n) => [call('look', n)],
  ask: (n) => [call('size', n)], mix: (n) => [call('look', n), call('pay', n + 1)], child: (n) => [call('clerk', n)],
  fail: (n) => [call('give', n)], hang: (n) => [call('give', n)] }
const argumentsOf = (to, { name, n }) => name === 'clerk' ? { message: to + ' pay ' + n } : { to, n }
function toLines(messages) {
  const names = new Map()
  return messages.flatMap(({ role, content, toolCalls = [], toolCallId }) => {
    if (role === 'user') return ['user: ' + content]
    if (role === 'tool') return [names.get(toolCallId) + ' -> ' + content]
    const calls = toolCalls.map(({ id, name, arguments: { n, message = '' } }) => {
      const said = name + ' ' + (n ?? message.split(' ').at(-1))
      names.set(id, said)
      return said
    })
    return ['model: ' + [content, ...calls].filter((part) => part !== '').join(', ')]
  })
}
export default defineModule({ name: 'Teller', provides: [LLM], create: (_, __, { agentId, projectDir }) => ({
  async *generate({ messages }) {
    const said = messages.filter(({ role }) => role !== 'system')
    const last = said.findLastIndex(({ role }) => role === 'user')
    const [to, command, number] = said[last].content.split(' ')
    const n = Number(number)
    const round = said.slice(last).filter(({ role }) => role === 'assistant').length
    if (agentId === 'bank') appendFileSync(projectDir + '/ledger/' + to + '.jsonl', JSON.stringify({ asked: toLines(said) }) + '\\n')
    if (round === 1 && command === 'fail') throw new Error('The model is gone.')
    const calls = round === 0 ? STEPS[command](n) : round === 1 && command === 'hang' ? [call('wait', n + 1)] : []
    for (const each of calls) yield { type: 'tool_call', call: { id: [to, agentId, each.name, each.n].join('_'), name: each.name, arguments: argumentsOf(to, each) } }
    if (calls.length === 0) yield { type: 'text', text: 'done ' + n }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  } }) })`,
  'modules/till.ts': `import { appendFileSync } from 'node:fs'
import { defineModule, ToolProvider } from 'agent-host'
const parameters = { type: 'object', properties: { to: { type: 'string' }, n: { type: 'number' } }, required: ['to', 'n'] }
export default defineModule({ name: 'Till', provides: [ToolProvider], create: (_, __, { projectDir }) => ({
  listTools: () => ['pay', 'give', 'size', 'wait'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, { to, n }, run) {
    const size = name === 'size' ? await run.ask({ message: 'Which size?', schema: { type: 'number' } }) : ''
    const did = (name + ' ' + n + ' ' + size).trim()
    appendFileSync(projectDir + '/ledger/' + to + '.jsonl', JSON.stringify({ did }) + '\\n')
    if (name === 'wait') await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
    return { text: did }
  } }) })`,
}

/** Tool of the clients. */
export const LOOK_PARAMETERS = {
  type: 'object',
  properties: { to: { type: 'string' }, n: { type: 'number' } },
} as const

/** What model and tools have written about one conversation. */
export interface Ledger {
  /** Histories that the model was sent, a line for each message; results of one step are sorted. */
  readonly asked: readonly (readonly string[])[]
  /** Calls that were executed. */
  readonly did: readonly string[]
}

/** Ledgers of a project. */
export class Ledgers {
  readonly #dir: string

  constructor(projectDir: string) {
    this.#dir = join(projectDir, 'ledger')
    mkdirSync(this.#dir, { recursive: true })
  }

  read(to: string): Ledger {
    const lines = this.#readLines(to)
    return {
      asked: lines.flatMap(({ asked }) => (asked ? [normalize(asked)] : [])),
      did: lines.flatMap(({ did }) => did ?? []),
    }
  }

  #readLines(to: string): { readonly asked?: string[]; readonly did?: string }[] {
    let text = ''
    try {
      text = readFileSync(join(this.#dir, `${to}.jsonl`), 'utf8')
    } catch (error) {
      // Nothing has been written yet.
      if (!isMissing(error)) throw error
    }
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Outcomes by the sentences that stand for them in the history. */
const OUTCOMES = [
  ['expired', /no one decided in time/i],
  ['cancelled', /it was cancelled/],
  ['rejected', /rejected this call/],
  ['superseded', /superseded by a message/],
  ['unknown', /^Outcome unknown/],
  ['not executed', /was not executed/],
] as const

const EDITED = /\(A person changed the arguments to .*\)\n/

function normalize(lines: readonly string[]): string[] {
  const named = lines.map((line) => {
    const [call, result] = line.replace(EDITED, 'edited, ').split(' -> ')
    const outcome = OUTCOMES.find(([, sentence]) => result !== undefined && sentence.test(result))
    return outcome ? `${call} -> ${outcome[0]}` : [call, ...(result === undefined ? [] : [result])].join(' -> ')
  })
  return sortResults(named)
}

/** Results of one step come in any order. */
export function sortResults(lines: readonly string[]): string[] {
  const sorted: string[] = []
  let results: string[] = []
  const isResult = (line: string) => line.includes(' -> ')
  for (const line of lines) {
    if (isResult(line)) results.push(line)
    else {
      sorted.push(...results.sort(), line)
      results = []
    }
  }
  return [...sorted, ...results.sort()]
}
