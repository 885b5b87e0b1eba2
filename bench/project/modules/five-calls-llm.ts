import { defineModule, LLM } from 'agent-host'

const CALLS = 5

/** A model that calls its first tool five times, one after the other. */
export default defineModule({
  name: 'FiveCallsLLM',
  description: 'Calls a tool five times.',
  provides: [LLM],
  create: () => ({
    async *generate({ messages, tools = [] }) {
      const [tool] = tools
      const done = messages.filter(({ role }) => role === 'tool').length
      if (tool && done < CALLS) {
        const call = { id: `call_${done}`, name: tool.name, arguments: { city: `Tokyo ${done}` } }
        yield { type: 'tool_call' as const, call }
        yield { type: 'finish' as const, reason: 'tool_calls' as const }
      } else {
        for (let word = 0; word < 20; word++) yield { type: 'text' as const, text: 'word ' }
        yield { type: 'finish' as const, reason: 'stop' as const }
      }
    },
  }),
})
