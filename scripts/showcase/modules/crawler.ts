import { defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'

export default defineModule({
  name: 'Crawler',
  description: 'Looks at as many things as it is told to.',
  provides: [TextMessageHandler],
  uses: { tools: ToolProvider, response: Response },
  create: ({ tools, response }) => ({
    async handleText(text, run) {
      for (let n = 0; n < Number.parseInt(text, 10); n++) {
        await tools.executeTool(n % 3 === 0 ? 'find_stock' : 'find_order', { id: `A${n}`, sku: n }, run)
      }
      await response.respondText('I have seen them all.')
    },
  }),
})
