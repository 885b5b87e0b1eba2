import {
  AgentHost,
  type LLMPart,
  type PendingAnswer,
  type PendingCall,
  type RunResult,
  type ToolCall,
} from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

/** `bank` executes payments; `batch` is a tool whose code calls those of `bank`. */
const MODULES = {
  'modules/bank.ts': `import { defineModule, ToolProvider } from 'agent-host'
const done = (globalThis.nestedDone ??= [])
const parameters = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
export default defineModule({ name: 'Bank', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'pay', description: 'Pays', parameters }],
  needsApproval: () => globalThis.nestedNeed,
  async executeTool(name, { amount }, run) {
    const code = amount > 90 ? await run.ask({ message: 'Code?', schema: { type: 'number' } }) : ''
    done.push('pay ' + amount + code)
    if (amount === 13) throw new Error('no funds')
    return { text: 'paid ' + amount, data: { amount }, attachments: [{ mediaType: 'text/plain', data: Buffer.from('receipt') }] }
  } }) })`,
  'modules/batch.ts': `import { defineModule, ToolProvider } from 'agent-host'
const parameters = { type: 'object', properties: {} }
const names = ['both', 'together', 'twice', 'careful', 'asking', 'failing', 'guarded', 'wavering', 'calling']
let rounds = 0
export default defineModule({ name: 'Batch', provides: [ToolProvider], uses: { bank: ToolProvider }, create: ({ bank }) => ({
  listTools: () => names.map((name) => ({ name, description: name, parameters })),
  needsApproval: (name) => name === 'guarded',
  async executeTool(name, args, run) {
    const pay = async (amount) => (await bank.executeTool('pay', { amount }, run)).text
    if (name === 'together') return { text: (await Promise.all([pay(1), pay(2)])).join(', ') }
    if (name === 'twice') return { text: [await pay(5), await pay(5)].join(', ') }
    if (name === 'calling') return { text: (await pay(4)) + ' ' + (await run.callAgent({ agent: 'clerk', message: 'Look.' })).text }
    if (name === 'guarded') return { text: await pay(7) }
    if (name === 'wavering') {
      const paid = []
      for (const amount of [[1], [1, 2], [2, 3], [1, 3]][rounds++]) paid.push(await pay(amount))
      return { text: paid.join(', ') }
    }
    if (name === 'careful') {
      const color = await run.ask({ message: 'Which color?', schema: { type: 'string' } })
      return { text: color + ' ' + (await pay(3)) }
    }
    if (name === 'asking') return { text: (await pay(99)) + ' ' + (await run.ask({ message: 'Which color?', schema: { type: 'string' } })) }
    if (name === 'failing') return { text: [await pay(13).catch((error) => error.message), await pay(1)].join(', ') }
    const first = await bank.executeTool('pay', { amount: 1 }, run)
    return { text: [first.text, Buffer.from(first.attachments[0].data).toString(), first.data.amount, await pay(2)].join(', ') }
  } }) })`,
  'modules/teller.ts': `import { defineModule, LLM, Response, TextMessageHandler, ToolProvider, ConversationHistory } from 'agent-host'
export default defineModule({ name: 'Teller', provides: [TextMessageHandler],
  uses: { llm: LLM, batch: ToolProvider, history: ConversationHistory, response: Response },
  create: ({ llm, batch, history, response }) => ({ async handleText(text, run) {
    const messages = await history.getHistory()
    const result = messages.find(({ role }) => role === 'tool')
    if (result) return void (await response.respondText(result.content))
    for await (const part of llm.generate({ messages }, run))
      if (part.type === 'tool_call') await batch.executeTool(part.call.name, part.call.arguments, run.with({ toolCallId: part.call.id }))
  } }) })`,
}

const executed = (): string[] => {
  const globals = globalThis as { nestedDone?: string[] }
  globals.nestedDone ??= []
  return globals.nestedDone
}

const clientTools = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }]

type Decide = (pending: PendingCall) => PendingAnswer
const approve: Decide = ({ callId }) => ({ callId, kind: 'approval', decision: 'approve' })

describe('approvals of nested tool calls', () => {
  let host: AgentHost

  beforeEach(async () => {
    const { dir } = await makeProject(MODULES)
    host = new AgentHost({ projectDir: dir })
    executed().length = 0
    Object.assign(globalThis, { nestedNeed: true })
    const replies = [{ tool_calls: [{ name: 'look' }] }, 'seen']
    await host.register({
      id: 'clerk',
      modules: [
        { id: 'llm', module: 'llm/mock', config: { replies }, scope: 'agent' },
        { id: 'loop', module: 'orchestrator/tool-loop' },
      ],
    })
    await host.register({
      id: 'teller',
      modules: [
        { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } },
        { id: 'bank', module: 'bank' },
        { id: 'batch', module: 'batch' },
        { id: 'teller', module: 'teller' },
      ],
      exchange: [
        { module: 'teller', protocol: 'ToolProvider', provider: 'batch' },
        { module: 'batch', protocol: 'ToolProvider', provider: 'bank' },
      ],
    })
  })
  afterEach(() => host.close(0))

  function ask(tool: string): Promise<RunResult> {
    const call: ToolCall = { id: 'c1', name: tool, arguments: {} }
    const llm = {
      async *generate(): AsyncGenerator<LLMPart> {
        yield { type: 'tool_call', call }
        yield { type: 'finish', reason: 'tool_calls' }
      },
    }
    return host.run('teller', 'hi', { overrides: { llm }, clientTools })
  }

  /** As a store would: what waits is text in between. */
  function decide({ trail, pending }: RunResult, answer: Decide): Promise<RunResult> {
    const stored = JSON.parse(JSON.stringify(pending)) as PendingCall[]
    return host.run('teller', trail, { pending: stored, answers: stored.map(answer), clientTools })
  }

  const waitsFor = ({ pending }: RunResult) => pending.map(({ kind, name, arguments: args }) => [kind, name, args])

  it('reach their call, and executed calls are not repeated', async () => {
    const first = await ask('both')
    expect(waitsFor(first)).to.deep.equal([['approval', 'pay', { amount: 1 }]])
    const second = await decide(first, approve)
    expect([waitsFor(second), executed()]).to.deep.equal([[['approval', 'pay', { amount: 2 }]], ['pay 1']])
    const { status, text } = await decide(second, approve)
    expect([status, text]).to.deep.equal(['completed', 'paid 1, receipt, 1, paid 2'])
    expect(executed()).to.deep.equal(['pay 1', 'pay 2'])
  })

  it('come one after the other for parallel calls', async () => {
    const second = await decide(await ask('together'), approve)
    expect([waitsFor(second), executed()]).to.deep.equal([[['approval', 'pay', { amount: 2 }]], ['pay 1']])
    const reject: Decide = ({ callId }) => ({ callId, kind: 'approval', decision: 'reject' })
    const { text } = await decide(second, reject)
    expect(text).to.equal("paid 1, A person rejected this call of 'pay'; it was not executed.")
    expect(executed()).to.deep.equal(['pay 1'])
  })

  it('are needed twice for two equal calls', async () => {
    const second = await decide(await ask('twice'), approve)
    expect([second.status, executed()]).to.deep.equal(['waiting', ['pay 5']])
    const { text } = await decide(second, approve)
    expect([text, executed()]).to.deep.equal(['paid 5, paid 5', ['pay 5', 'pay 5']])
  })

  it('are needed even if a question of the same tool was answered', async () => {
    const asked = await ask('careful')
    const second = await decide(asked, ({ callId }) => ({ callId, kind: 'question', answers: ['red'] }))
    expect([waitsFor(second), executed()]).to.deep.equal([[['approval', 'pay', { amount: 3 }]], []])
  })

  it('include the approval of the tool itself', async () => {
    const outer = await ask('guarded')
    expect(waitsFor(outer)).to.deep.equal([['approval', 'guarded', {}]])
    const inner = await decide(outer, approve)
    expect(waitsFor(inner)).to.deep.equal([['approval', 'pay', { amount: 7 }]])
    const { text } = await decide(inner, approve)
    expect([text, executed()]).to.deep.equal(['paid 7', ['pay 7']])
  })

  it('keep questions apart: a call that is not repeated asks nothing again', async () => {
    const code = await decide(await ask('asking'), approve)
    expect(code.pending[0]?.message).to.equal('Code?')
    const color = await decide(code, ({ callId }) => ({ callId, kind: 'question', answers: [4] }))
    expect([color.pending[0]?.message, executed()]).to.deep.equal(['Which color?', ['pay 994']])
    const { text } = await decide(color, ({ callId }) => ({ callId, kind: 'question', answers: [4, 'red'] }))
    expect([text, executed()]).to.deep.equal(['paid 99 red', ['pay 994']])
  })

  it('replay the failure of a call instead of the call', async () => {
    const second = await decide(await ask('failing'), approve)
    const { text } = await decide(second, approve)
    expect([text, executed()]).to.deep.equal(['no funds, paid 1', ['pay 13', 'pay 1']])
  })

  it('hold for the rounds to come, also where one round does without the call', async () => {
    let last = await ask('wavering')
    for (const amount of [1, 2, 3]) {
      expect(waitsFor(last)).to.deep.equal([['approval', 'pay', { amount }]])
      last = await decide(last, approve)
    }
    expect([last.text, executed()]).to.deep.equal(['paid 1, paid 3', ['pay 1', 'pay 2', 'pay 3']])
  })

  it('hold where the next answer is that of a client, and the call would need no approval any more', async () => {
    const reject: Decide = ({ callId }) => ({ callId, kind: 'approval', decision: 'reject' })
    const second = await decide(await ask('calling'), reject)
    expect(waitsFor(second)).to.deep.equal([['client_tool', 'look', {}]])
    Object.assign(globalThis, { nestedNeed: false })
    const { text } = await decide(second, ({ callId }) => ({ callId, kind: 'client_tool', result: { text: 'a cat' } }))
    expect([text, executed()]).to.deep.equal(["A person rejected this call of 'pay'; it was not executed. seen", []])
  })

  it('need the digest of the call: a decision without one applies to the call in the conversation', async () => {
    const { trail, pending } = await ask('both')
    const again = await host.run('teller', trail, { answers: pending.map(approve) })
    expect([again.status, executed()]).to.deep.equal(['waiting', []])
  })
})
