import { defineTool, Type } from 'agent-host'

export const refund = defineTool({
  description: 'Refunds an amount in euros.',
  parameters: Type.Object({ euros: Type.Number({ description: 'Amount in euros.' }) }),
  execute: ({ euros }) => `Refunded ${euros} euros.`,
})
