/** Calls that people decide: `pay` and `refund` need an approval, `size` asks. `paid.txt` has a line for each executed call. */
const PAY = `import { defineModule, ToolProvider } from 'agent-host'
import { appendFileSync } from 'node:fs'
const parameters = { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } }, required: ['amount'] }
export default defineModule({ name: 'Pay', provides: [ToolProvider], create: (_, __, { projectDir }) => ({
  listTools: () => ['pay', 'refund', 'size'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name !== 'size',
  async executeTool(name, { amount, to }, run) {
    const asked = name === 'size' ? await run.ask({ message: 'Which size?', schema: { type: 'number' } }) : amount
    const text = [name, asked, ...(to ? [to] : [])].join(' ')
    appendFileSync(projectDir + '/paid.txt', text + '\\n')
    return { text }
  } }) })`
/** Executes the calls that its model asks for, and says their results. */
const CASHIER = `import { ConversationHistory, defineModule, LLM, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Cashier', provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ llm, tools, history, response }) => ({ async handleText(text, run) {
    const messages = await history.getHistory()
    const results = messages.filter(({ role }) => role === 'tool')
    if (results.length > 0) return void (await response.respondText('Results: ' + results.map(({ content }) => content).join(', ')))
    const calls = []
    for await (const part of llm.generate({ messages }, run)) if (part.type === 'tool_call') calls.push(part.call)
    for (const { id, name, arguments: args } of calls) await tools[0].executeTool(name, args, run.with({ toolCallId: id })).catch(() => {})
  } }) })`

/** Pays, and tells with which options it goes on after that. */
const TELLER = `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Teller', provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools, history, response }) => ({ async handleText(_, run) {
    const { requestOptions, instructions, metadata, user } = run
    const isPaid = (await history.getHistory()).some(({ role }) => role === 'tool')
    if (isPaid) return void (await response.respondText(JSON.stringify({ requestOptions, instructions, metadata, user })))
    await tools[0].executeTool('pay', { amount: 3 }, run.with({ toolCallId: 'call_1' }))
  } }) })`

export const SHOP_MODULES = { 'modules/pay.ts': PAY, 'modules/cashier.ts': CASHIER, 'modules/teller.ts': TELLER }

/** An agent that pays once. */
export const TELLER_AGENT = 'id: teller\nmodules: [{ id: tools, module: pay }, { id: main, module: teller }]'

/** An agent that makes these calls, in the notation of YAML: `{ name: pay, arguments: { amount: 40 } }`. */
export function shopAgent(id: string, calls: string, more = ''): string {
  return `id: ${id}
${more}
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: '', tool_calls: [${calls}] }, { text: Done. }] } }
  - { id: tools, module: pay }
  - { id: cashier, module: cashier }`
}

/** Project with agents whose calls need approvals: one call, two calls, none; and an agent that calls tools without a model. */
export const SHOP_FILES = {
  ...SHOP_MODULES,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
  'agents/both.yml': shopAgent(
    'both',
    '{ name: pay, arguments: { amount: 1 } }, { name: refund, arguments: { amount: 2 } }',
  ),
  'agents/clerk.yml': shopAgent('clerk', '{ name: size, arguments: { amount: 0 } }'),
  'agents/teller.yml': TELLER_AGENT,
}
