/** An agent that looks up an order, and refunds it where its prompt says so. What its model is asked and its tools do is counted. */
export const SHOP = {
  'agents/shop.yml': `id: shop
modules:
  - { id: llm, module: clerk }
  - { id: tools, module: desk }
  - { id: main, module: orchestrator/tool-loop, config: { system_prompt: Be kind. } }`,
  'modules/clerk.ts': `import { defineModule, LLM, Type } from 'agent-host'
const asked = (globalThis.clerkAsked ??= [])
export default defineModule({ name: 'Clerk', provides: [LLM], config: Type.Object({ temperature: Type.Optional(Type.Number()) }),
  create: (_, { temperature }) => ({ async *generate({ messages }) {
    asked.push(messages)
    const [{ content: prompt }] = messages
    const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
    const next = calls.length === 0 ? 'find' : prompt.includes('Refund') && calls.length === 1 ? 'refund' : undefined
    if (next) yield { type: 'tool_call', call: { id: 'call_' + calls.length, name: next, arguments: { order: 'A1' } } }
    else yield { type: 'text', text: [prompt, temperature ?? '-', messages.at(-1).content, JSON.stringify(calls[0].arguments)].join(' | ') }
    yield { type: 'finish', reason: next ? 'tool_calls' : 'stop' }
  } }) })`,
  'modules/desk.ts': `import { defineModule, ToolProvider } from 'agent-host'
const done = (globalThis.deskDone ??= [])
const parameters = { type: 'object', properties: { order: { type: 'string' } } }
export default defineModule({ name: 'Desk', provides: [ToolProvider], create: () => ({
  listTools: () => ['find', 'refund'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'refund',
  async executeTool(name, { order }) { done.push(name + ' ' + order); return { text: name + ' ' + order } } }) })`,
}
/** Questions to its model, or calls of its tools, in this process. */
export const counted = (name: 'clerkAsked' | 'deskDone'): unknown[] => {
  const globals = globalThis as { clerkAsked?: unknown[]; deskDone?: unknown[] }
  globals[name] ??= []
  return globals[name]
}
