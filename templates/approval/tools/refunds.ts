import { defineTool, Type } from 'agent-host'

/** Refunds up to this amount need no approval. */
const LIMIT_EUROS = 10

export const refund = defineTool({
  description: 'Refunds an amount in euros to the customer of an order.',
  parameters: Type.Object({
    euros: Type.Number({ exclusiveMinimum: 0, description: 'Amount in euros.', examples: [20] }),
    number: Type.String({ description: 'Number of the order, such as A-1002.', examples: ['A-1002'] }),
  }),
  needsApproval: ({ euros }) => euros > LIMIT_EUROS,
  execute({ euros, number }) {
    // Replace this with a request to your own system.
    return `Refunded ${euros} euros for order ${number}.`
  },
})
