import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'

/** Counts the bytes that it is shown. */
export default defineModule({
  name: 'Sight',
  description: 'Counts the bytes of a picture.',
  provides: [TextMessageHandler],
  attachments: ['image/*'],
  uses: { history: ConversationHistory, response: Response },
  create: ({ history, response }) => ({
    async handleText() {
      const message = (await history.getHistory()).at(-1)
      const attachments = message?.role === 'user' ? (message.attachments ?? []) : []
      const bytes = attachments.map(({ data }) => (data instanceof URL ? 0 : data.length))
      await response.respondText(`${bytes.join()} bytes`)
    },
  }),
})
