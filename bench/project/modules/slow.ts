import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'

/** Answers in twenty pieces, one every half second. */
export default defineModule({
  name: 'Slow',
  description: 'Answers in twenty pieces, slowly.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({
    async handleText(_text, run) {
      for (let word = 0; word < 20; word++) {
        await setTimeout(500, undefined, { signal: run.signal })
        await response.respondText('word ')
      }
    },
  }),
})
