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
