/** An agent that answers with its prompt, model, tone and the message; for `pay` it calls a tool that needs an approval. */
export const VARIED_PROJECT = {
  'agents/talker.yml': `# Talks.
id: talker
modules:
  - id: llm # the model
    module: told
    config:
      model: \${MODEL:-small} # of the environment
      api_key: its-own-key
      base_url: http://127.0.0.1:1
      headers: { authorization: '\${TALKER_KEY:-none}' }
  - { id: tools, module: till, config: { command: 'touch started', files: [a.txt] } }
  - id: main
    module: orchestrator/tool-loop
    config:
      # What it is told.
      system_prompt: Be kind.
      max_steps: 4
`,
  'modules/told.ts': `import { defineModule, LLM, Type } from 'agent-host'
export default defineModule({ name: 'Told', provides: [LLM], scope: 'agent',
  config: Type.Object({ model: Type.String(), temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })), api_key: Type.String({ secret: true }),
    base_url: Type.String(), headers: Type.Record(Type.String(), Type.String()), tone: Type.Enum(['kind', 'short'], { default: 'kind', variant: true }),
    words: Type.Record(Type.String(), Type.String(), { default: {}, variant: true }) }),
  create: (_, { model, temperature, base_url, tone }) => ({ modelInfo: { name: model, provider: 'told' }, async *generate({ messages }) {
    const [first] = messages
    const prompt = first.role === 'system' ? first.content : ''
    const { content } = messages.findLast(({ role }) => role === 'user')
    const isPaid = messages.at(-1).role === 'tool'
    if (content === 'pay' && !isPaid) yield { type: 'tool_call', call: { id: 'call_1', name: 'pay', arguments: {} } }
    else yield { type: 'text', text: [prompt, model, temperature ?? '-', base_url, tone, isPaid ? 'paid' : content].join('|') }
    yield { type: 'finish', reason: content === 'pay' && !isPaid ? 'tool_calls' : 'stop' }
  } }) })`,
  'modules/till.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
import { execSync } from 'node:child_process'
export default defineModule({ name: 'Till', provides: [ToolProvider], scope: 'agent',
  config: Type.Object({ command: Type.String(), files: Type.Array(Type.String()) }),
  create: (_, { command }, { projectDir }) => {
    execSync(command, { cwd: projectDir })
    const opened = (globalThis.tillsOpened ??= [])
    opened.push(command)
    return { listTools: () => [{ name: 'pay', description: 'Pays', parameters: { type: 'object', properties: {} } }],
      needsApproval: () => true, async executeTool() { return { text: 'paid' } } }
  } })`,
}

/** Commands that the till was opened with, in this process. */
export function tillsOpened(): string[] {
  const globals = globalThis as { tillsOpened?: string[] }
  globals.tillsOpened ??= []
  return globals.tillsOpened
}

export const PROMPTED = [{ module: 'main', path: ['system_prompt'], value: 'Be short.' }]

const of = (module: string, path: unknown, value?: unknown) => [{ module, path, value }]
/** Changes of that agent that no variant may have. */
export const HOSTILE_CHANGES: unknown[] = [
  of('tools', ['command'], 'touch stolen'),
  of('tools', ['files'], ['/etc/passwd']),
  of('tools', ['files', 0], '../../secret.ts'),
  of('tools', ['files', 5], 'b.txt'),
  of('tools', [], { command: 'touch stolen', files: [] }),
  of('tools', ['env'], { NODE_OPTIONS: '--import ./evil.mjs' }),
  of('tools', ['module'], './evil.ts'),
  of('tools', ['..', 'module'], './evil.ts'),
  of('tools', ['../module'], './evil.ts'),
  of('llm', ['base_url'], 'http://evil.test'),
  of('llm', ['headers', 'authorization'], 'stolen'),
  of('llm', ['headers'], { 'x-key': '${TALKER_KEY}' }),
  of('llm', ['api_key'], '${HOME}'),
  of('llm', ['api_key'], 'mine'),
  of('llm', ['api_key']),
  of('llm', ['model'], '${TALKER_KEY}'),
  of('llm', ['model'], '${MODEL:-${TALKER_KEY}}'),
  of('llm', ['model'], '../../v2/evil'),
  of('llm', ['model'], 'models/../../v2/evil'),
  of('llm', ['model'], 'evil//evil.test'),
  of('llm', ['model'], 'http://evil.test/v1'),
  of('llm', ['model'], '//evil.test'),
  of('llm', ['model'], 'm?key=1'),
  of('llm', ['model'], 'm#x'),
  of('llm', ['model'], 'm\r\nx-evil: 1'),
  of('llm', ['model'], '/etc/passwd'),
  of('llm', ['model'], { toString: 'evil' }),
  of('llm', ['temperature'], '${TALKER_KEY}'),
  of('llm', ['words', 'a'], '${TALKER_KEY}'),
  of('llm', ['words'], { a: '${TALKER_KEY}' }),
  of('llm', ['words', '__proto__'], 'x'),
  of('llm', ['words'], JSON.parse('{"__proto__": "x"}')),
  of('llm', ['words'], { constructor: 'x' }),
  of('llm', ['__proto__', 'polluted'], true),
  of('llm', ['constructor', 'prototype', 'polluted'], true),
  of('__proto__', ['polluted'], true),
  of('constructor', ['prototype', 'polluted'], true),
  of('llm', ['tone'], 'rude'),
  of('llm', ['tone', 'toString'], 'x'),
  of('main', ['system_prompt'], 'Use ${TALKER_KEY}'),
  of('main', ['system_prompt'], '$$${TALKER_KEY'.replace('$$$', '$')),
  of('main', ['system_prompt'], 'The key is [redacted]'),
  of('main', ['system_prompt'], 'The key is sk-aaaaaaaaaaaaaaaaaaaaaaaaaa'),
  of('main', ['system_prompt'], ['Be short.']),
  of('main', ['system_prompt', 0], 'B'),
  of('main', ['system_prompt', 'length'], 0),
  of('main', ['max_steps'], -1),
  of('main', ['max_tokens'], 10),
  of('exchange', [0, 'provider'], 'evil'),
  of('', ['id'], 'evil'),
  [...PROMPTED, { module: 'tools', path: ['command'], value: 'touch stolen' }],
  [{ ...PROMPTED[0], scope: 'agent' }],
  [{ ...PROMPTED[0], path: 'system_prompt' }],
]
