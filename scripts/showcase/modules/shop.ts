import { setTimeout } from 'node:timers/promises'
import { defineModule, ToolProvider } from 'agent-host'

const id = { type: 'string', description: 'Number of the order.', examples: ['A1'] }
const TOOLS = [
  {
    name: 'find_order',
    description: 'Finds an order by its number.',
    parameters: { type: 'object', properties: { id }, required: ['id'] },
  },
  {
    name: 'find_stock',
    description: 'Counts what is in stock.',
    parameters: { type: 'object', properties: { sku: { type: 'integer' } }, required: ['sku'] },
  },
  {
    name: 'weather',
    description: 'Tells the weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string', examples: ['Lima'] } }, required: ['city'] },
  },
]

export default defineModule({
  name: 'Shop',
  description: 'Orders, stock, and the weather on the way.',
  provides: [ToolProvider],
  create: () => ({
    listTools: () => TOOLS,
    async executeTool(name, args, run) {
      await setTimeout(name === 'find_stock' ? 90 : 45, undefined, { signal: run.signal })
      if (name === 'weather') throw new Error('The weather service is closed today')
      if (name === 'find_stock') return { text: '4', data: { sku: args.sku, count: 4 } }
      const order = { id: args.id, status: 'shipped', items: [{ name: 'Rain jacket', size: 'M' }] }
      return { text: JSON.stringify(order), data: order }
    },
  }),
})
