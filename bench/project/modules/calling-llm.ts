import { defineModule, LLM } from 'agent-host'

/** A model that calls its first tool, unless it has the result. */
export default defineModule({
  name: 'CallingLLM',
  description: 'Calls a tool once.',
  provides: [LLM],
  create: () => ({
    async *generate({ messages, tools = [] }) {
      const [tool] = tools
      if (tool && messages.at(-1)?.role !== 'tool') {
        yield { type: 'tool_call' as const, call: { id: 'call_1', name: tool.name, arguments: { city: 'Tokyo' } } }
        yield { type: 'finish' as const, reason: 'tool_calls' as const }
      } else {
        yield { type: 'text' as const, text: 'word '.repeat(20) }
        yield { type: 'finish' as const, reason: 'stop' as const }
      }
    },
  }),
})
