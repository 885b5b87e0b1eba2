import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { makeMcp } from '../../support/mcp.ts'
import { closeServers } from '../../support/server.ts'

const FILES = {
  'agents/shop.yml': `id: shop
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ name: pay, arguments: { amount: 40 } }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/clerk.yml': `id: clerk
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: '', tool_calls: [{ name: size, arguments: {} }] }, { text: Done. } ] } }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/pay.ts': `import { defineModule, ToolProvider } from 'agent-host'
const paid = (globalThis.mcpPaid ??= [])
const parameters = { type: 'object', properties: { amount: { type: 'number' } } }
export default defineModule({ name: 'Pay', provides: [ToolProvider], create: () => ({
  listTools: () => ['pay', 'size'].map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, args, run) {
    if (name === 'size') args = { amount: await run.ask({ message: 'Which size?', schema: { type: 'number' } }) }
    paid.push(args.amount)
    return { text: 'ok' }
  } }) })`,
}

function paid(): unknown[] {
  const globals = globalThis as { mcpPaid?: unknown[] }
  globals.mcpPaid ??= []
  return globals.mcpPaid
}

type Reply = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> }

/** Calls a tool with the official client, whose user answers in this way. */
async function callWith(reply: Reply, name: string) {
  const { listen } = await makeMcp({}, FILES)
  const asked: unknown[] = []
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params)
    return reply as never
  })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', await listen())))
  const result = await client.callTool({ name, arguments: { message: 'pay' } }).then(
    ({ content, isError }) => ({ content, isError }),
    (error: Error) => error.message,
  )
  await client.close()
  return { asked, result, version: client.getNegotiatedProtocolVersion() }
}

describe('a call over MCP that waits for a person', () => {
  beforeEach(() => {
    paid().length = 0
  })
  afterEach(closeServers)

  it('asks the user of the client, and executes the approved call once', async () => {
    const { asked, result } = await callWith({ action: 'accept', content: {} }, 'shop')
    expect(asked).to.have.lengthOf(1)
    expect(asked[0]).to.deep.include({ message: 'May I call pay({"amount":40})?' })
    expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
    expect(paid()).to.deep.equal([40])
  })

  it('tells the agent of a rejection, and ends with an error when the user cancels', async () => {
    const { result } = await callWith({ action: 'decline' }, 'shop')
    expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
    const { result: cancelled } = await callWith({ action: 'cancel' }, 'shop')
    expect(cancelled).to.contain('The call was given up')
    expect(paid()).to.deep.equal([])
  })

  it('asks the question of a tool with a form', async () => {
    const { asked, result } = await callWith({ action: 'accept', content: { answer: 42 } }, 'clerk')
    expect(asked[0]).to.deep.include({
      message: 'Which size?',
      requestedSchema: { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] },
    })
    expect(result).to.deep.include({ content: [{ type: 'text', text: 'Done.' }] })
    expect(paid()).to.deep.equal([42])
  })

  it('is an error that says what to do where nobody can be asked', async () => {
    const { call } = await makeMcp({}, FILES)
    const { result } = (await call('shop', { message: 'pay' })) as {
      result: { isError: boolean; content: { text: string }[] }
    }
    expect(result.isError).to.equal(true)
    expect(result.content[0]?.text).to.contain('needs a person to decide about pay({"amount":40})')
    expect(paid()).to.deep.equal([])
  })
})
