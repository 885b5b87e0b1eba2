import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'

/** Answers in twenty pieces, one every half second. */
export default defineModule({
  name: 'Slow',
  description: 'Answers in twenty pieces, slowly.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  config: Type.Object({
    listens: Type.Boolean({ default: true, description: 'Each wait ends with the signal of the run.' }),
  }),
  create: ({ response }, { listens }) => ({
    async handleText(_text, run) {
      for (let word = 0; word < 20; word++) {
        await setTimeout(500, undefined, listens ? { signal: run.signal } : undefined)
        await response.respondText('word ')
      }
    },
  }),
})
