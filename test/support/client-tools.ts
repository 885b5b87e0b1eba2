/**
 * An agent whose model calls every tool that the user names, with the city after it (`weather Lima time Lima`), and tells the
 * outputs once it has them. With a schema to answer by it answers `{"city": <last word>}`. Its own tools: `own`, and `pay`, which
 * needs an approval. `late` has the same tools, and takes its time to list them.
 */
export const CLIENT_TOOLS_PROJECT = {
  'agents/tools.yml': `id: tools
modules:
  - { id: llm, module: obedient }
  - { id: own, module: own }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/late.yml': `id: late
modules:
  - { id: llm, module: obedient }
  - { id: own, module: own, config: { delay_ms: 30 } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/sight.yml': `id: sight
modules:
  - { id: main, module: sight }`,
  'modules/obedient.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Obedient', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }, run) {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const words = messages[last].content.split(' ')
    const round = messages.filter(({ role }) => role === 'assistant').length + 1
    const outputs = messages.slice(last).filter(({ role }) => role === 'tool')
    const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls).map(({ id, name }) => [id, name]))
    const calls = outputs.length > 0 ? [] : words.flatMap((name, index) =>
      tools.some((tool) => tool.name === name) ? [{ name, arguments: { city: words[index + 1] } }] : [])
    if (run.requestOptions.responseSchema) yield { type: 'text', text: JSON.stringify({ city: words.at(-1) }) }
    else if (calls.length === 0) yield { type: 'text', text: outputs.map(({ toolCallId, content }) => names.get(toolCallId) + ': ' + content).join('; ') || 'nothing' }
    for (const [index, call] of calls.entries()) yield { type: 'tool_call', call: { id: 'call_' + round + '_' + index, ...call } }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  } }) })`,
  'modules/own.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
import { setTimeout } from 'node:timers/promises'
const own = ['own', 'pay'].map((name) => ({ name, description: name, parameters: { type: 'object' } }))
export default defineModule({ name: 'Own', provides: [ToolProvider], config: Type.Object({ delay_ms: Type.Number({ default: 0 }) }), create: (_, { delay_ms }) => ({
  listTools: () => delay_ms > 0 ? setTimeout(delay_ms, own) : own,
  needsApproval: (name) => name === 'pay',
  executeTool: async (name) => ({ text: name + ' was executed' }) }) })`,
  'modules/sight.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Sight', provides: [TextMessageHandler], attachments: ['image/*'], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text) {
    const seen = (await history.getHistory()).at(-1).attachments ?? []
    await response.respondText(text + ' ' + seen.map(({ mediaType, data }) => mediaType + ' ' + (data.href ?? data.length)).join())
  } }) })`,
}
