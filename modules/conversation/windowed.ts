import { ConversationHistory, defineModule, Type } from 'agent-host'
import { keepLatest } from './lib/keep-latest.ts'

export default defineModule({
  name: 'Windowed',
  description: 'The latest part of a conversation, as much as fits into so many tokens and messages.',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory },
  config: Type.Object({
    max_tokens: Type.Integer({
      minimum: 1,
      default: 8000,
      description: 'Tokens that the conversation may have, its system messages included. Estimated: four bytes each.',
    }),
    max_messages: Type.Integer({
      minimum: 1,
      default: 100,
      description: 'Messages that it may have; those of the system do not count.',
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
