import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'

export default defineModule({
  name: 'Echo',
  description: 'Repeats the message.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  config: Type.Object({
    prefix: Type.String({ default: '', variant: true, description: 'Put in front of every reply.' }),
  }),
  create: ({ response }, config) => ({
    async handleText(text) {
      await response.respondText(config.prefix + text)
    },
  }),
})
