import { defineModule, LLM, Response, TextMessageHandler } from 'agent-host'

/** Asks its model twenty times, one after the other. */
export default defineModule({
  name: 'Patient',
  description: 'Asks its model twenty times.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, response: Response },
  create: ({ llm, response }) => ({
    async handleText(text, run) {
      for (let call = 0; call < 20; call++) {
        for await (const _part of llm.generate({ messages: [{ role: 'user', content: text }] }, run)) {
          // Only its time counts.
        }
      }
      await response.respondText('done')
    },
  }),
})
