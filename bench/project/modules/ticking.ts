import { setTimeout } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'

/** Says the time as often as the message wants: `<Unix milliseconds of the first> <number> <each second>`. */
export default defineModule({
  name: 'Ticking',
  description: 'Says the time.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({
    async handleText(text) {
      const [beginMs = 0, count = 0, perSecond = 1] = text.split(' ').map(Number)
      // Runs that start together do not tick together.
      const firstMs = beginMs + Math.random() * (1000 / perSecond)
      for (let n = 0; n < count; n++) {
        await setTimeout(Math.max(firstMs + (n * 1000) / perSecond - Date.now(), 0))
        await response.respondText(`${(performance.timeOrigin + performance.now()).toFixed(2)} `)
      }
    },
  }),
})
