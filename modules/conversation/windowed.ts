import { ConversationHistory, defineModule, Type } from 'agent-host'
import { keepLatest } from './lib/keep-latest.ts'

export default defineModule({
  name: 'Windowed',
  description: 'The latest part of a conversation, up to a number of tokens and messages.',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory },
  config: Type.Object({
    max_tokens: Type.Integer({
      minimum: 1,
      default: 8000,
      variant: true,
      description: 'Maximum tokens, system messages included. Estimated at four bytes each.',
    }),
    max_messages: Type.Integer({
      minimum: 1,
      default: 100,
      variant: true,
      description: 'Maximum messages; system messages do not count.',
    }),
  }),
  create: ({ history }, { max_tokens, max_messages }) => ({
    async getHistory(run) {
      return keepLatest(await history.getHistory(run), { messages: max_messages, tokens: max_tokens })
    },
    addMessage: (message, run) => history.addMessage(message, run),
    clearHistory: (run) => history.clearHistory(run),
  }),
})
