import { defineModule, Response, TextMessageHandler } from 'agent-host'

/** Answers in twenty pieces, as fast as it can. */
export default defineModule({
  name: 'Twenty',
  description: 'Answers in twenty pieces.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({
    async handleText() {
      for (let word = 0; word < 20; word++) await response.respondText('word ')
    },
  }),
})
