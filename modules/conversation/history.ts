import { ConversationHistory, defineModule, type Message, Type } from 'agent-host'

const Example = Type.Object({
  role: Type.Union([Type.Literal('system'), Type.Literal('user'), Type.Literal('assistant')]),
  content: Type.String(),
})

export default defineModule({
  name: 'History',
  description: 'The conversation of the run: as it is, its last messages, or with examples before it.',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory },
  config: Type.Object({
    messages: Type.Array(Example, { default: [], description: 'Put in front of every conversation, oldest first.' }),
    max_messages: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'How many of the latest messages are kept; system messages always are.',
      }),
    ),
  }),
  create: ({ history }, { messages: examples, max_messages = Number.POSITIVE_INFINITY }) => ({
    async getHistory(run) {
      return [...examples, ...keepLatest(await history.getHistory(run), max_messages)]
    },
    addMessage: (message, run) => history.addMessage(message, run),
    clearHistory: (run) => history.clearHistory(run),
  }),
})

function keepLatest(messages: readonly Message[], count: number): Message[] {
  const spoken = messages.filter(({ role }) => role !== 'system')
  let first = Math.max(0, spoken.length - count)
  // The answer of a tool means nothing without the call that asked for it.
  while (spoken[first]?.role === 'tool') first++
  const kept = new Set(spoken.slice(first))
  return messages.filter((message) => message.role === 'system' || kept.has(message))
}
