import { defineModule, ToolProvider } from 'agent-host'

const properties = { amount: { type: 'number' }, to: { type: 'string' }, note: { type: 'string' } }

export default defineModule({
  name: 'Till',
  description: 'Pays, once somebody has agreed.',
  provides: [ToolProvider],
  create: () => ({
    listTools: () => [
      {
        name: 'pay',
        description: 'Pays somebody.',
        parameters: { type: 'object', properties, required: ['amount'] },
        approval: 'always' as const,
      },
    ],
    needsApproval: () => true,
    executeTool: async (_name, args) => ({ text: `Paid ${args.amount} to ${args.to}.` }),
  }),
})
