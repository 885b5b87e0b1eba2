import { defineModule, Response, TextMessageHandler } from 'agent-host'

const BUSY_MS = 5

/** Keeps its process busy for a while, as one that renders or parses does. */
export default defineModule({
  name: 'Busy',
  description: 'Computes for a while.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({
    async handleText() {
      const { user, system } = process.cpuUsage()
      const endMicros = user + system + BUSY_MS * 1000
      for (let used = 0; used < endMicros; ) {
        const now = process.cpuUsage()
        used = now.user + now.system
      }
      await response.respondText('done')
    },
  }),
})
