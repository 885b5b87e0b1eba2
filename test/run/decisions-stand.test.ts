import { AgentHost, type CallDecision, type ResumableRun } from 'agent-host'
import { expect } from 'chai'
import { globalList } from '../support/global-list.ts'
import { makeProject } from '../support/temp-project.ts'

/** `pay` needs what `globalThis.need` says; a caller without a model calls that of the module that its message names. */
const MODULES = {
  'modules/pay.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
globalThis.paid ??= []
export default defineModule({ name: 'Pay', provides: [ToolProvider],
  config: Type.Object({ free: Type.Boolean({ default: false }), policy: Type.Optional(Type.String()) }),
  create: (_, { free, policy }, { moduleId }) => ({
    listTools: () => [{ name: 'pay', description: 'Pays', parameters: { type: 'object' } }],
    needsApproval: () => free ? false : policy ? { policy } : globalThis.need,
    async executeTool(_, { amount }) { globalThis.paid.push(moduleId + ' ' + amount); return { text: 'paid ' + amount } } }) })`,
  'modules/wavering.ts': `import { ApprovalPolicy, defineModule } from 'agent-host'
export default defineModule({ name: 'Wavering', provides: [ApprovalPolicy], create: () => ({ ruleFor: () => globalThis.rule }) })`,
  'modules/caller.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Caller', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response, history: ConversationHistory },
  create: ({ tools, response, history }) => ({ async handleText(text, run) {
    const results = (await history.getHistory(run)).filter(({ role }) => role === 'tool')
    if (results[0] && globalThis.next) return response.respondText((await tools[0].executeTool('pay', globalThis.next, run)).text)
    await response.respondText(results[0]?.content ?? (await tools[Number(text)].executeTool('pay', { amount: 500 }, run)).text) } }) })`,
}
const NEEDLESS = [
  ['its policy lets it pass', { policy: 'rules' }, () => void Object.assign(globalThis, { rule: 'never' })],
  ['its code lets it pass', {}, () => void Object.assign(globalThis, { need: false })],
  [
    'the agent file asks no one any more',
    {},
    async (host: AgentHost) => void (await host.replace('shop', shop({ free: true }))),
  ],
] as const
const ANSWERS: readonly (readonly [CallDecision, string, readonly string[]])[] = [
  [{ decision: 'reject' }, "A person rejected this call of 'pay'; it was not executed.", []],
  [
    { decision: 'edit', arguments: { amount: 5 } },
    '(A person changed the arguments to {"amount":5}.)\npaid 5',
    ['tools 5'],
  ],
  [{ decision: 'approve' }, 'paid 500', ['tools 500']],
]

const shop = (config: object) => ({
  id: 'shop',
  modules: [
    { id: 'tools', module: 'pay', config },
    { id: 'rules', module: 'wavering' },
    { id: 'main', module: 'caller' },
  ],
})
const paid = () => globalList('paid').splice(0)

describe('the decision of a person', () => {
  let host: AgentHost

  beforeEach(async () => {
    host = new AgentHost({ projectDir: (await makeProject(MODULES)).dir })
    Object.assign(globalThis, { rule: 'always', need: true, next: undefined })
    paid()
  })
  afterEach(() => host.close(0))

  async function wait(text = '0'): Promise<ResumableRun> {
    const waiting: ResumableRun[] = []
    const forget = host.onWaiting((one) => void waiting.push(one))
    await host.run('shop', text)
    forget()
    return waiting[0] as ResumableRun
  }
  const decide = (waiting: ResumableRun, decision: CallDecision) =>
    host.resume(waiting, [{ callId: waiting.pending[0]?.callId ?? '', kind: 'approval', ...decision }])

  for (const [what, config, change] of NEEDLESS) {
    it(`stands where ${what}: what was rejected is not executed, and what was edited as it was edited`, async () => {
      for (const [decision, text, executed] of ANSWERS) {
        Object.assign(globalThis, { rule: 'always', need: true })
        await (host.get('shop') ? host.replace('shop', shop(config)) : host.register(shop(config)))
        const waiting = await wait()
        await change(host)
        expect([(await decide(waiting, decision)).text, paid()]).to.deep.equal([text, executed])
      }
    })
  }

  it('stands by value, without the calls that waited: a rejected one is not executed, and an edited one only as edited', async () => {
    await host.register(shop({}))
    for (const [decision, said, executed] of ANSWERS) {
      Object.assign(globalThis, { need: true })
      const { trail, pending } = await wait()
      Object.assign(globalThis, { need: false })
      const answers = [{ callId: pending[0]?.callId ?? '', kind: 'approval', ...decision }] as const
      const { text } = await host.run('shop', trail, { answers })
      expect([text, paid()]).to.deep.equal([said, executed])
    }
  })

  it('is about the tool of one module, where another has one of the same name', async () => {
    const [tools, ...others] = shop({}).modules
    const first = { id: 'first', module: 'pay', config: { free: true } }
    await host.register({ id: 'shop', modules: [first, tools, ...others] })
    for (const [decision, text, executed] of ANSWERS) {
      const waiting = await wait('1')
      expect(waiting.pending[0]).to.include({ moduleId: 'tools' })
      expect([(await decide(waiting, decision)).text, paid()]).to.deep.equal([text, executed])
    }
    const waiting = await wait('1')
    await host.replace('shop', { id: 'shop', modules: [first, ...others] })
    expect((await decide(waiting, { decision: 'reject' })).text).to.equal(ANSWERS[0]?.[1])
    expect(paid()).to.deep.equal([])
  })

  it('leaves later calls as they are, also with arguments that are no JSON', async () => {
    await host.register(shop({}))
    const waiting = await wait()
    Object.assign(globalThis, { need: false, next: { amount: 7, count: 1n } })
    expect((await decide(waiting, { decision: 'approve' })).text).to.equal('paid 7')
  })

  it('has no place where the code of a tool says neither yes nor no: the call fails, and nothing runs', async () => {
    await host.register(shop({}))
    for (const need of [undefined, null, 0, 1, '', 'never', {}, [], { policy: 5 }, Promise.resolve()]) {
      Object.assign(globalThis, { need })
      const message = await host.run('shop', '0').catch(({ cause }) => cause.message)
      expect(message).to.equal("needsApproval of the module 'tools' must return true, false or a policy for 'pay'.")
    }
    expect(paid()).to.deep.equal([])
  })
})
