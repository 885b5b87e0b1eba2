import { ConversationHistory, defineModule, Type } from 'agent-host'
import { keepLatest } from './lib/keep-latest.ts'

const Example = Type.Object({
  role: Type.Union([Type.Literal('system'), Type.Literal('user'), Type.Literal('assistant')], {
    description: 'Author of the message.',
  }),
  content: Type.String({ variant: true, description: 'Text of the message.' }),
})

export default defineModule({
  name: 'History',
  description: 'The conversation of the run: whole, its latest messages, or with examples in front.',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory },
  config: Type.Object({
    messages: Type.Array(Example, {
      default: [],
      description: 'Messages in front of every conversation, oldest first.',
    }),
    max_messages: Type.Optional(
      Type.Integer({
        minimum: 1,
        variant: true,
        description: 'Number of the latest messages to keep; system messages always stay.',
      }),
    ),
  }),
  create: ({ history }, { messages: examples, max_messages = Infinity }) => ({
    async getHistory(run) {
      const room = { messages: max_messages, tokens: Infinity }
      return [...examples, ...keepLatest(await history.getHistory(run), room)]
    },
    addMessage: (message, run) => history.addMessage(message, run),
    clearHistory: (run) => history.clearHistory(run),
  }),
})
