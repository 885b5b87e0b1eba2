/**
 * An agent that pays, and writes each payment into `ledger.txt`. 'fail' pays and fails; 'hang' pays twice, and the second payment never
 * ends; 'both' makes these two in one step; 'refund' needs approval, then fails; 'look' asks the client, then does as 'hang'; 'show' says
 * what its model is asked.
 */
export const CASHIER = {
  'agents/cashier.yml': `id: cashier
modules:
  - { id: llm, module: cashier }
  - { id: tools, module: tools/local, config: { files: [tools/pay.ts] } }
  - { id: main, module: orchestrator/tool-loop }`,
  'modules/cashier.ts': `import { defineModule, LLM } from 'agent-host'
const signed = { type: 'reasoning', text: 'Hm.', providerMetadata: { vendor: { signature: 's1' } } }
const called = (id, name, args) => ({ type: 'tool_call', call: { id, name, arguments: args } })
const first = [signed, { type: 'text', text: 'I pay. ' }, called('p1', 'pay', { amount: 5 })]
const second = called('p2', 'pay', { amount: 6, isSlow: true })
const SCRIPTS = { fail: [first], hang: [first, [second]], both: [[...first, second]], refund: [[called('r1', 'refund', {})]],
  look: [[called('c1', 'look', {})], first, [second]], said: [[{ type: 'text', text: 'I look. ' }]] }
export default defineModule({ name: 'Cashier', provides: [LLM],
  create: () => ({ async *generate({ messages }) {
    const asked = messages.filter(({ role }) => role !== 'system')
    const at = asked.findLastIndex(({ role }) => role === 'user')
    if (asked[at].content === 'show') return yield { type: 'text', text: JSON.stringify(asked) }
    const step = SCRIPTS[asked[at].content][asked.slice(at).filter(({ role }) => role === 'assistant').length]
    if (!step) throw new Error('The model is gone.')
    yield* step
  } }) })`,
  'tools/pay.ts': `import { appendFileSync } from 'node:fs'
import { defineTool, Type } from 'agent-host'
const note = (line) => appendFileSync(new URL('../ledger.txt', import.meta.url), line + '\\n')
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({ amount: Type.Number(), isSlow: Type.Optional(Type.Boolean()) }),
  async execute({ amount, isSlow }, run) {
    note('pay ' + amount)
    if (isSlow) await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
    return 'paid ' + amount
  } })
export const refund = defineTool({ description: 'Pays back.', parameters: Type.Object({}), needsApproval: true,
  execute() { note('refund'); return 'refunded' } })`,
}

/** Tool of the client. */
export const LOOK = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }

const first = {
  role: 'assistant',
  content: 'I pay. ',
  reasoning: [{ text: 'Hm.', providerMetadata: { vendor: { signature: 's1' } } }],
}
const CALLS = [
  { id: 'p1', name: 'pay', arguments: { amount: 5 } },
  { id: 'p2', name: 'pay', arguments: { amount: 6, isSlow: true } },
]
const PAID = { role: 'tool', content: 'paid 5', toolCallId: 'p1' }
const UNKNOWN = {
  role: 'tool',
  content: "Outcome unknown: the run ended during the call of 'pay'. It may have been carried out.",
  toolCallId: 'p2',
  isError: true,
}
const user = (content: string) => ({ role: 'user', content })
const AFTER_FIRST = [
  { ...first, toolCalls: [CALLS[0]] },
  PAID,
  { role: 'assistant', content: '', toolCalls: [CALLS[1]] },
  UNKNOWN,
]

/** Messages that the model is asked with by 'show', after each of the others. */
export const HISTORIES: Readonly<Record<string, readonly object[]>> = {
  fail: [user('fail'), { ...first, toolCalls: [CALLS[0]] }, PAID, user('show')],
  hang: [user('hang'), ...AFTER_FIRST, user('show')],
  both: [user('both'), { ...first, toolCalls: CALLS }, PAID, UNKNOWN, user('show')],
  refund: [
    user('refund'),
    { role: 'assistant', content: '', toolCalls: [{ id: 'r1', name: 'refund', arguments: {} }] },
    { role: 'tool', content: 'refunded', toolCallId: 'r1' },
    user('show'),
  ],
  look: [
    user('look'),
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: {} }] },
    { role: 'tool', content: 'a cat', toolCallId: 'c1' },
    ...AFTER_FIRST,
    user('show'),
  ],
}

/** Ledgers of the same. */
export const LEDGERS: Readonly<Record<string, string>> = {
  fail: 'pay 5\n',
  hang: 'pay 5\npay 6\n',
  both: 'pay 5\npay 6\n',
  refund: 'refund\n',
  look: 'pay 5\npay 6\n',
}
