import { fileURLToPath } from 'node:url'
import type { RecordedRun, RecordingHost } from './tapes.ts'

/** A kind of run: how it comes about, and an edit that a replay has to notice. */
export interface TapeKind {
  readonly name: string
  readonly agent: Definition
  drive(recording: RecordingHost): Promise<RecordedRun>
  /** The agent with another prompt. */
  edit(agent: Definition): Definition
  /** Number of the call that the edit changes; undefined where there is no call to change. */
  readonly changedCall: number | undefined
}

interface Definition {
  readonly id: string
  readonly modules: readonly { id: string; module: string; scope?: string; config?: Record<string, unknown> }[]
  readonly exchange?: readonly object[]
  readonly [name: string]: unknown
}

/** Modules of the project of all kinds. Tools count their calls in `globalThis.toolCalls`. */
export const KIND_MODULES = {
  'modules/kit.ts': `import { defineModule, many, optional, LLM, ToolProvider } from 'agent-host'
import { setTimeout } from 'node:timers/promises'
globalThis.toolCalls ??= []
const parameters = { type: 'object' }
export default defineModule({ name: 'Kit', provides: [ToolProvider], create: () => ({
  listTools: () => ['add', 'slow', 'ask', 'pay', 'broken', 'picture', 'outer'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, args, run) {
    globalThis.toolCalls.push(name)
    if (name === 'slow') { await setTimeout(args.ms, undefined, { signal: run.signal }); return { text: 'slept ' + args.ms } }
    if (name === 'ask') return { text: 'You said ' + await run.ask({ message: 'Which?', schema: { type: 'string' } }) }
    if (name === 'broken') throw Object.assign(new Error('no luck'), { status: 418 })
    if (name === 'picture') return { text: 'here', attachments: [{ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }] }
    run.reportProgress(name)
    run.addUsage({ outputTokens: 2 })
    return { text: name + ' ' + JSON.stringify(args), data: { at: new Date(0) } }
  } }) })`,
  'modules/nesting.ts': `import { defineModule, many, LLM, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Nesting', provides: [ToolProvider], uses: { llm: LLM, kit: ToolProvider }, create: ({ llm, kit }) => ({
  listTools: () => [{ name: 'think', description: 'Thinks', parameters: { type: 'object' } }],
  async executeTool(name, args, run) {
    const { text } = await kit.executeTool('add', { within: true }, run)
    let said = ''
    for await (const part of llm.generate({ messages: [{ role: 'user', content: text }] }, run)) if (part.type === 'text') said += part.text
    return { text: said }
  } }) })`,
  'modules/sensor.ts': `import { defineModule, defineProtocol } from 'agent-host'
export const Sensor = defineProtocol('Sensor', ['read', 'id', 'follow'])
export default defineModule({ name: 'Sensor', provides: [Sensor], boundary: true, create: () => ({
  read: async () => ({ degrees: 21.5, at: undefined, seen: new Map([['a', 1n]]) }),
  id: () => 'sensor-' + Math.random(),
  async *follow() { yield 1; yield 2 },
}) })`,
  'modules/station.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { Sensor } from './sensor.ts'
export default defineModule({ name: 'Station', provides: [TextMessageHandler], uses: { sensor: Sensor, response: Response }, create: ({ sensor, response }) => ({
  async handleText(text, run) {
    const { degrees, seen } = await sensor.read(run)
    await response.respondText(sensor.id() + ': ' + degrees + ' ' + seen.get('a'))
    for await (const part of sensor.follow(run)) await response.respondText(' ' + part)
  } }) })`,
  'modules/painter.ts': `import { defineModule, LLM, Response, ConversationHistory, TextMessageHandler, Type } from 'agent-host'
const config = Type.Object({ system_prompt: Type.String() })
export default defineModule({ name: 'Painter', provides: [TextMessageHandler], attachments: ['image/*'], config, uses: { llm: LLM, response: Response, history: ConversationHistory }, create: ({ llm, response, history }, { system_prompt }) => ({
  async handleText(text, run) {
    for await (const part of llm.generate({ messages: [{ role: 'system', content: system_prompt }, ...history.getHistory()] }, run)) if (part.type === 'text') await response.respondText(part.text)
    await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([9, 9]) })
  } }) })`,
  'modules/keeper.ts': `import { defineModule, LLM, Memory, Response, Storage, TextMessageHandler, Type } from 'agent-host'
import { randomUUID } from 'node:crypto'
const config = Type.Object({ system_prompt: Type.String() })
export default defineModule({ name: 'Keeper', provides: [TextMessageHandler], config, uses: { llm: LLM, memory: Memory, storage: Storage, response: Response }, create: ({ llm, memory, storage, response }, { system_prompt }) => ({
  async handleText(text, run) {
    const key = randomUUID()
    await storage.set(key, { text }, run)
    const kept = await storage.get(key, run)
    await memory.store(kept.text, {}, run)
    const [hit] = await memory.search(text, 1, run)
    await response.respondText('remembered ' + hit.text + ' ' + hit.score.toFixed(3) + ' ' + (await storage.get('none', run)))
    const messages = [{ role: 'system', content: system_prompt }, { role: 'user', content: hit.text }]
    for await (const part of llm.generate({ messages }, run)) if (part.type === 'text') await response.respondText(part.text)
  } }) })`,
  'tools/weather.py': `def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"It rains in {city}."
`,
}

const tools = (...calls: readonly [name: string, args?: object][]) => ({
  tool_calls: calls.map(([name, args = {}]) => ({ name, arguments: args })),
})
const loop = { id: 'loop', module: 'orchestrator/tool-loop', config: { system_prompt: 'Be kind.' } }
const mock = (...replies: readonly unknown[]) => ({
  id: 'llm',
  module: 'llm/mock',
  scope: 'agent',
  config: { replies },
})
const kit = { id: 'kit', module: 'kit' }

function looping(
  id: string,
  replies: readonly unknown[],
  more: readonly Definition['modules'][number][] = [kit],
): Definition {
  return { id, modules: [mock(...replies), ...more, loop] }
}

/** An agent whose front module hands the message to handlers with these prompts. */
function handingOver(
  id: string,
  replies: readonly unknown[],
  prompts: Readonly<Record<string, string>>,
  ...[front, ...more]: readonly [Definition['modules'][number], ...Definition['modules']]
): Definition {
  const handlers = Object.entries(prompts).map(([handler, prompt]) => ({
    id: handler,
    module: 'orchestrator/tool-loop',
    config: { system_prompt: prompt },
  }))
  const protocol = 'TextMessageHandler'
  return {
    id,
    modules: [mock(...replies), ...handlers, front, ...more],
    exchange: [
      { module: front.id, protocol, provider: Object.keys(prompts) },
      { module: '__entry__', protocol, provider: front.id },
    ],
  }
}

const withPrompt =
  (id: string, config: Record<string, unknown>) =>
  (agent: Definition): Definition => ({
    ...agent,
    modules: agent.modules.map((entry) =>
      entry.id === id ? { ...entry, config: { ...entry.config, ...config } } : entry,
    ),
  })

const harsh = withPrompt('loop', { system_prompt: 'Be harsh.' })
const runs =
  (text: string, more: Parameters<RecordingHost['run']>[2] = {}) =>
  (id: string) =>
  (recording: RecordingHost) =>
    recording.run(id, text, more)

function kind(agent: Definition, drive: (id: string) => TapeKind['drive'], facts: Partial<TapeKind> = {}): TapeKind {
  return { name: agent.id, agent, drive: drive(agent.id), edit: harsh, changedCall: 2, ...facts }
}

const decides = (decision: object) => (id: string) => async (recording: RecordingHost) => {
  const waiting = await recording.run(id, 'Pay 5')
  const pending = waiting.result?.pending ?? []
  return recording.resume(
    id,
    waiting,
    pending.map(({ callId, kind: asked }) => ({ callId, kind: asked, ...decision }) as never),
  )
}

const MCP_SERVER = fileURLToPath(new URL('mcp-tool-server.js', import.meta.url))
const PAYING = [tools(['pay', { amount: 5 }]), { text: 'Paid.' }]
const WEATHER = { name: 'weather', description: 'Of a city', parameters: { type: 'object' } }

/** Kinds of runs of a host. Runs of clients of a server are in test/prove/replay.prove.ts. */
export const TAPE_KINDS: readonly TapeKind[] = [
  kind({ id: 'echo', modules: [{ id: 'echo', module: 'echo' }] }, runs('hello'), {
    edit: withPrompt('echo', { prefix: 'You said: ' }),
    changedCall: undefined,
  }),
  kind(looping('tools', [tools(['add', { a: 1 }]), { text: 'Added.' }]), runs('Add 1')),
  kind(
    looping('parallel', [tools(['slow', { ms: 30 }], ['slow', { ms: 1 }], ['add', { a: 2 }]), { text: 'All done.' }]),
    runs('Do three things'),
  ),
  kind(
    {
      ...looping(
        'nested',
        [tools(['think']), { text: 'inner' }, { text: 'Thought.' }],
        [kit, { id: 'nest', module: 'nesting' }],
      ),
      exchange: [{ module: 'loop', protocol: 'ToolProvider', provider: ['nest'] }],
    },
    runs('Think'),
  ),
  kind(
    looping('client-tools', [
      tools(['weather', { city: 'Oslo' }]),
      tools(['weather', { city: 'Bergen' }]),
      { text: 'It rains in both.' },
    ]),
    (id) => async (recording) => {
      const clientTools = { clientTools: [WEATHER] }
      let run = await recording.run(id, 'Weather?', clientTools)
      for (const text of ['rain', 'more rain']) {
        const pending = run.result?.pending ?? []
        const answers = pending.map(({ callId }) => ({ callId, kind: 'client_tool' as const, result: { text } }))
        run = await recording.resume(id, run, answers, clientTools)
      }
      return run
    },
  ),
  kind(
    looping(
      'mcp',
      [tools(['add', { a: 1, b: 2 }]), { text: 'Three.' }],
      [
        {
          id: 'remote',
          module: 'tools/mcp',
          config: { servers: [{ name: 'sums', command: process.execPath, args: [MCP_SERVER] }] },
        },
      ],
    ),
    runs('Add 1 and 2'),
  ),
  kind(
    looping(
      'python',
      [tools(['weather', { city: 'Oslo' }]), { text: 'Rain.' }],
      [{ id: 'local', module: 'tools/local', config: { files: ['tools/weather.py'] } }],
    ),
    runs('Weather?'),
  ),
  kind(looping('approved', PAYING), decides({ decision: 'approve', by: 'someone' })),
  kind(looping('rejected', PAYING), decides({ decision: 'reject', reason: 'too much' })),
  kind(looping('edited', PAYING), decides({ decision: 'edit', arguments: { amount: 4 } })),
  kind(looping('asked', [tools(['ask']), { text: 'Fine.' }]), decides({ answers: ['red'] })),
  kind(
    looping('repeated-ids', [
      ...['add', 'add', 'ask'].map((name) => ({ tool_calls: [{ id: 'call_0', name, arguments: {} }] })),
      { text: 'Fine.' },
    ]),
    decides({ answers: ['red'] }),
  ),
  kind(
    {
      id: 'held',
      modules: [
        mock({ text: 'My secret plan.' }),
        { id: 'guard', module: 'guard/output', config: { patterns: ['plan'], action: 'ask' } },
        loop,
      ],
    },
    decides({ decision: 'approve' }),
    { changedCall: 1 },
  ),
  kind(looping('failed-tool', [tools(['broken']), { text: 'It did not work.' }]), runs('Break')),
  kind(looping('failed-model', [{ text: 'Half an ans', error: 'the model is gone' }]), runs('Say'), { changedCall: 2 }),
  kind(looping('refused-model', [{ error: 'the key is wrong' }]), runs('Say'), { changedCall: 2 }),
  kind(looping('cancelled', [tools(['slow', { ms: 60_000 }])]), (id) => (recording) => {
    const leaving = new AbortController()
    const onEvent = (event: { type: string }) =>
      void (event.type === 'tool_call' && setTimeout(() => leaving.abort(), 20))
    return recording.run(id, 'Sleep', { signal: leaving.signal, onEvent })
  }),
  kind(
    handingOver(
      'router',
      [{ text: 'sales' }, { text: 'Buy two.' }],
      { sales: 'Sell.', help: 'Help.' },
      {
        id: 'router',
        module: 'orchestrator/router',
        config: { handlers: [{ name: 'sales' }, { name: 'help' }] },
      },
    ),
    runs('I want to buy'),
    { edit: withPrompt('sales', { system_prompt: 'Sell more.' }) },
  ),
  kind(
    handingOver(
      'pipeline',
      [{ text: 'draft' }, { text: 'Polished.' }],
      { writer: 'Write.', editor: 'Edit.' },
      { id: 'pipeline', module: 'orchestrator/pipeline' },
      { id: 'stage', module: 'orchestrator/stage' },
    ),
    runs('About rain'),
    { edit: withPrompt('editor', { system_prompt: 'Edit well.' }) },
  ),
  kind(
    {
      id: 'react',
      modules: [
        mock({ text: 'Thought: add\nAction: add\nAction Input: {"a": 1}' }, { text: 'Thought: ok\nFinal Answer: 2' }),
        kit,
        { id: 'loop', module: 'orchestrator/react', config: { system_prompt: 'Be kind.' } },
      ],
    },
    runs('What is 1 + 1?'),
  ),
  kind(
    {
      id: 'memory',
      modules: [
        { id: 'embedder', module: 'embedder/local' },
        { id: 'index', module: 'memory/exact-index' },
        { id: 'memory', module: 'memory/vector-memory' },
        mock({ text: 'Blue.' }),
        { id: 'keeper', module: 'keeper', config: { system_prompt: 'Be kind.' } },
      ],
    },
    runs('the sky is blue'),
    { edit: withPrompt('keeper', { system_prompt: 'Be harsh.' }), changedCall: 12 },
  ),
  kind(
    {
      id: 'pictures',
      modules: [mock({ text: 'A cat.' }), { id: 'painter', module: 'painter', config: { system_prompt: 'Be kind.' } }],
    },
    (id) => (recording) => {
      const data = new Uint8Array([5, 6, 7])
      const attachments = [{ mediaType: 'image/png', data }]
      return recording.run(id, [{ role: 'user', content: 'What is it?', attachments }])
    },
    { edit: withPrompt('painter', { system_prompt: 'Be harsh.' }), changedCall: 1 },
  ),
  kind(
    looping('reasoning', [
      { reasoning: 'Let me see. Well.', text: 'Here it is.', usage: { input_tokens: 3, output_tokens: 5 } },
    ]),
    runs('Think'),
  ),
  kind(
    {
      id: 'boundary',
      modules: [
        { id: 'sensor', module: 'sensor' },
        { id: 'station', module: 'station' },
      ],
    },
    runs('now'),
    { edit: (agent) => agent, changedCall: undefined },
  ),
]
