import { strict as assert } from 'node:assert'
import { fileURLToPath } from 'node:url'
import { EventSchema } from '@ag-ui/core/schemas'
import type { ServerOptions } from 'agent-host'
import { type ServedAdapter, serveAdapter, type TestedAdapter } from 'agent-host/testing'

export const ADAPTER: TestedAdapter = { name: 'AgUiAdapter', file: new URL('../src/index.ts', import.meta.url) }

/**
 * Agents for the tests. `tools` calls every tool that the user names, with the city after it, and tells the results; `pay` waits for an
 * approval, and `name` asks a question. `boss` asks the agent `helper`. `counter` counts in its state. `slow` waits for the abort.
 */
export const FILES: Readonly<Record<string, string>> = {
  'agents/tools.yml': `id: tools
modules:
  - { id: llm, module: obedient }
  - { id: own, module: own }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/boss.yml': `id: boss
modules:
  - { id: llm, module: obedient }
  - { id: team, module: tools/agents, config: { agents: [tools] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/counter.yml': `id: counter
modules:
  - { id: state, module: shared }
  - { id: main, module: counter }`,
  'agents/thinker.yml': 'id: thinker\nmodules: [{ id: main, module: thinker }]',
  'agents/failing.yml': 'id: failing\nmodules: [{ id: main, module: failing }]',
  'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]',
  'agents/sight.yml': 'id: sight\nmodules: [{ id: main, module: sight }]',
  'modules/obedient.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Obedient', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }, run) {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const words = messages[last].content.split(' ')
    const round = messages.filter(({ role }) => role === 'assistant').length + 1
    const outputs = messages.slice(last).filter(({ role }) => role === 'tool')
    const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls).map(({ id, name }) => [id, name]))
    const calls = outputs.length > 0 ? [] : words.flatMap((name, index) =>
      tools.some((tool) => tool.name === name) ? [{ name, arguments: name === 'tools' ? { message: words.slice(index + 1).join(' ') } : { city: words[index + 1] } }] : [])
    if (calls.length === 0) yield { type: 'text', text: outputs.map(({ toolCallId, content }) => names.get(toolCallId) + ': ' + content).join('; ') || messages.length + ' messages, ' + (run.instructions ?? 'no context') }
    else yield { type: 'text', text: 'One moment.' }
    for (const [index, call] of calls.slice(0, words[0] === 'tools' ? 1 : 9).entries()) yield { type: 'tool_call', call: { id: 'call_' + run.agentId + round + '_' + index, ...call } }
    yield { type: 'usage', usage: { inputTokens: 10, outputTokens: 2 } }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  } }) })`,
  'modules/own.ts': `import { defineModule, ToolProvider } from 'agent-host'
const own = ['own', 'pay', 'name', 'broken'].map((name) => ({ name, description: name, parameters: { type: 'object' } }))
export default defineModule({ name: 'Own', provides: [ToolProvider], create: () => ({
  listTools: () => own,
  needsApproval: (name) => name === 'pay',
  executeTool: async (name, args, run) => {
    if (name === 'broken') throw new Error('no luck')
    if (name !== 'name') return { text: name + ' ' + args.city }
    return { text: 'Your name is ' + await run.ask({ message: 'What is your name?', schema: { type: 'string' } }) }
  } }) })`,
  'modules/thinker.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Thinker', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() {
    await response.respondReasoning('Hm. ')
    await response.respondReasoning('Well.')
    await response.respondText('Because.')
  } }) })`,
  'modules/failing.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Failing', provides: [TextMessageHandler], create: () => ({ async handleText() { throw new Error('secret reason') } }) })`,
  'modules/shared.ts': `import { defineModule } from 'agent-host'
import { AgentState, makeAgentState } from ${JSON.stringify(fileURLToPath(ADAPTER.file as URL))}
export default defineModule({ name: 'Shared', provides: [AgentState], create: () => makeAgentState() })`,
  'modules/counter.ts': `import { defineModule, defineProtocol, Response, TextMessageHandler } from 'agent-host'
const AgentState = defineProtocol('AgentState', ['getState', 'setState'])
export default defineModule({ name: 'Counter', provides: [TextMessageHandler], uses: { state: AgentState, response: Response },
  create: ({ state, response }) => ({ async handleText(text, run) {
    const { count = 0 } = await state.getState(run)
    await state.setState({ count: count + 1, seen: { [text]: true }, old: 1 }, run)
    run.reportProgress('half')
    await response.respondEvent('counted', { count })
    await state.setState({ count: count + 2, seen: { [text]: true, 'a/b': 1 } }, run)
    await response.respondText(String(count))
  } }) })`,
  'modules/slow.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await response.respondText('begun')
    if (text !== 'wait') return
    await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
  } }) })`,
  'modules/sight.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Sight', provides: [TextMessageHandler], attachments: ['image/*'], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text) {
    const seen = (await history.getHistory()).at(-1).attachments ?? []
    await response.respondText(text + ' ' + seen.map(({ mediaType, data }) => mediaType + ' ' + (data.href ?? data.length)).join())
    await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2]) })
  } }) })`,
}

/** Event of an answer; every one of them fits the schema of the protocol. */
export interface Event {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: the schema has checked it
  readonly [field: string]: any
}

export function serve(options: Partial<ServerOptions> = {}, files = {}): Promise<ServedAdapter> {
  return serveAdapter(ADAPTER, { files: { ...FILES, ...files }, options })
}

export interface Sent {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly events: readonly Event[]
}

/** Sends an input, with what the protocol requires beside the given fields. */
export async function send(
  { server }: ServedAdapter,
  agent: string,
  input: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  const payload = { threadId: 't1', runId: 'r1', messages: [], ...input }
  const answer = await server.app.inject({ method: 'POST', url: `/ag-ui/${agent}`, payload, headers })
  const { statusCode: status, body } = answer
  return { status, body, headers: answer.headers, events: status === 200 ? readEvents(body) : [] }
}

/** Reads the events of an answer, and checks each of them. */
export function readEvents(body: string): Event[] {
  return body
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => {
      const event = JSON.parse(block.slice('data: '.length))
      assert.deepEqual(EventSchema.parse(event), event)
      return event
    })
}

export function say(...texts: readonly string[]): object {
  return { messages: texts.map((content, index) => ({ id: `u${index}`, role: 'user', content })) }
}

export function textOf({ events }: Pick<Sent, 'events'>): string {
  return events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('')
}
