import { defineModule, LLM } from 'agent-host'

/** A model that calls the first tool that it has, unless the result is there already. */
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
