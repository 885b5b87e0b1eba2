import type { PendingAnswer, RunResult } from 'agent-host'
import { expect } from 'chai'
import type { JsonValue } from '../../../src/tape/file/tape-values.ts'
import { type RerunOptions, startRerun } from '../../../src/tape/reruns/rerun.ts'
import { globalList } from '../../support/global-list.ts'
import { openRecordingHost, type RecordedRun, type RecordingHost } from '../../support/tapes.ts'
import { makeSharedProject, removeFolder } from '../../support/temp-project.ts'

/** Payments above 1000 need an approval, by the tool itself or by a policy. An approval is looked up quickly or slowly. */
const MODULES = {
  'modules/bank.ts': `import { defineModule, LLM, ToolProvider, Type } from 'agent-host'
globalThis.paid ??= []
const turns = async (count) => { for (let i = 0; i < count; i++) await new Promise(setImmediate) }
export default defineModule({ name: 'Bank', provides: [ToolProvider],
  config: Type.Object({ policy: Type.Optional(Type.String()) }),
  create: (_, { policy }) => ({
    listTools: () => [{ name: 'pay', description: 'Pays', parameters: { type: 'object' } }],
    async executeTool(name, { amount }) { globalThis.paid.push(amount); return { text: 'paid ' + amount } },
    async needsApproval(name, { amount }) {
      if (globalThis.slowAmounts?.includes(amount)) await turns(40)
      return policy ? { policy } : amount > 1000
    } }) })`,
  'modules/limit.ts': `import { ApprovalPolicy, defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Limit', provides: [ApprovalPolicy], uses: { judge: LLM },
  create: ({ judge }) => ({ async ruleFor(name, { amount }, run) {
    let said = ''
    for await (const part of judge.generate({ messages: [{ role: 'user', content: String(amount) }], tools: [] }, run)) said += part.text ?? ''
    return said
  } }) })`,
  'modules/script.ts': `import { defineModule, LLM, Type } from 'agent-host'
export default defineModule({ name: 'Script', provides: [LLM], config: Type.Object({ steps: Type.Array(Type.Any()) }),
  create: (_, { steps }) => ({ async *generate({ messages }) {
    const said = messages.filter(({ role }) => role === 'assistant').length
    const calls = steps[said] ?? []
    for (const [index, call] of calls.entries()) yield { type: 'tool_call', call: { id: 'call_' + said + '_' + index, ...call } }
    if (calls.length === 0) yield { type: 'text', text: 'Done.' }
    yield { type: 'finish', reason: calls.length === 0 ? 'stop' : 'tool_calls' } } }) })`,
  'modules/judge.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Judge', provides: [LLM], create: () => ({ async *generate({ messages }) {
  yield { type: 'text', text: Number(messages[0].content) > 1000 ? 'always' : 'never' }
  yield { type: 'finish', reason: 'stop' } } }) })`,
  'modules/office.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Office', provides: [ToolProvider], uses: { bank: ToolProvider },
  create: ({ bank }) => ({
    listTools: () => [{ name: 'order', description: 'Orders', parameters: { type: 'object' } }],
    executeTool: (name, args, run) => bank.executeTool('pay', args, run) }) })`,
}

const ALL = ['llm', 'tools']
const globals = globalThis as { slowAmounts?: readonly number[] }
const paid = () => globalList('paid').splice(0)
/** One step of the model. */
const pay = (...amounts: readonly number[]) => amounts.map((amount) => ({ name: 'pay', arguments: { amount } }))
const payer = (id: string, steps: readonly unknown[], config: object = {}, more: readonly object[] = []) => ({
  id,
  modules: [
    { id: 'llm', module: 'script', config: { steps } },
    { id: 'bank', module: 'bank', config },
    { id: 'loop', module: 'orchestrator/tool-loop', config: {} },
    ...more,
  ],
  exchange: [
    { module: 'loop', protocol: 'LLM', provider: 'llm' },
    { module: 'loop', protocol: 'ToolProvider', provider: 'bank' },
  ],
})
const LIMITED = [
  { id: 'limit', module: 'limit' },
  { id: 'judge', module: 'judge' },
]
const limited = (id: string, steps: readonly unknown[], config: object = {}) => {
  const { exchange, ...agent } = payer(id, steps, { policy: 'limit', ...config }, LIMITED)
  return { ...agent, exchange: [...exchange, { module: 'limit', protocol: 'LLM', provider: 'judge' }] }
}

describe('a rerun', () => {
  let projectDir: string
  let recording: RecordingHost

  before(async () => {
    projectDir = (await makeSharedProject(MODULES)).dir
    recording = await openRecordingHost(projectDir)
  })
  beforeEach(() => {
    paid()
    globals.slowAmounts = []
  })
  after(async () => {
    await recording.close()
    await removeFolder(projectDir)
  })

  /** Runs an agent, and gives what runs that recording again from one of its calls of a method. */
  const record = async (agent: { readonly id: string }) => {
    await recording.host.register(agent)
    return recorded(await recording.run(agent.id, 'Pay'))
  }
  const recorded = async (before: RecordedRun) => {
    const tape = await recording.tape(before.runId)
    const run = tape.runs.find(({ turn }) => turn.run_id === before.runId) ?? expect.fail('no such run')
    const first = paid()
    const again = async (
      [method, index]: readonly [string, number],
      edit: RerunOptions['edit'],
      live: readonly string[] = ['tools'],
    ) => {
      const call = run.calls.filter(({ line }) => line.method === method)[index] ?? expect.fail('no such call')
      const { handle, turn } = await startRerun(recording.host, { tape, run, call, edit, changes: [], live })
      const result = await handle.result.catch((error: Error) => error)
      const outcome = result instanceof Error ? result.message : result.status
      const pending = result instanceof Error ? [] : result.pending
      return { outcome, paid: paid(), asked: pending.map(({ arguments: args }) => args), result, turn }
    }
    return { first, again, waiting: before }
  }
  const amount = (value: JsonValue) => ({ arguments: { amount: value } })
  const asksFor = (...amounts: readonly number[]) => ({
    outcome: 'waiting',
    paid: [],
    asked: amounts.map((each) => ({ amount: each })),
  })
  const toolTexts = ({ result }: { result: RunResult | Error }) =>
    'trail' in result ? result.trail.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) : []
  const seen = ({ outcome, paid: now, asked }: { outcome: string; paid: unknown; asked: unknown }) => {
    return { outcome, paid: now, asked }
  }

  for (const [name, make] of [
    ['the tool', payer],
    ['a policy', limited],
  ] as const) {
    describe(`with approvals by ${name}`, () => {
      it('asks before it executes an edited call, whichever of several it is', async () => {
        const { first, again } = await record(make(`three-${name.at(-1)}`, [pay(10, 20, 30)]))
        expect(first).to.deep.equal([10, 20, 30])
        // From an earlier call on the later ones are executed again.
        const later = [[20, 30], [30], []]
        for (const index of [0, 1, 2]) {
          const rerun = await again(['executeTool', index], amount(5000), ALL)
          expect(seen(rerun), `from call ${index}`).to.deep.equal({ ...asksFor(5000), paid: later[index] })
        }
      })

      it('answers each call with its own result, and executes none twice, where the one before comes later now', async () => {
        const { again } = await record(make(`slow-${name.at(-1)}`, [pay(10, 20)]))
        globals.slowAmounts = [10]
        expect(seen(await again(['executeTool', 1], amount(5000), ALL))).to.deep.equal(asksFor(5000))
        const small = await again(['executeTool', 1], amount(25), ALL)
        expect(seen(small)).to.deep.equal({ outcome: 'completed', paid: [25], asked: [] })
        expect(toolTexts(small)).to.deep.equal(['paid 10', 'paid 25'])
      })
    })
  }

  /** Answers what a recorded run waits for, and gives what runs the next one again. */
  const decide = async (agent: string, waiting: RecordedRun, given: readonly Partial<PendingAnswer>[]) => {
    const pending = waiting.result?.pending ?? []
    const answers = pending.map(({ callId }, index) => ({ callId, kind: 'approval', ...given[index] }) as PendingAnswer)
    return recorded(await recording.resume(agent, waiting, answers))
  }

  it('asks again about a call that was approved on the tape, and plays those before it', async () => {
    const { waiting } = await record(payer('approved', [pay(4000, 5000), pay(3)]))
    const { first, again } = await decide('approved', waiting, [{ decision: 'approve' }, { decision: 'approve' }])
    expect(first).to.deep.equal([4000, 5000, 3])
    expect(seen(await again(['executeTool', 0], {}, ALL))).to.deep.equal(asksFor(4000, 5000))
    expect(seen(await again(['executeTool', 1], {}, ALL))).to.deep.equal(asksFor(5000))
    const played = await again(['executeTool', 1], {}, ['llm'])
    expect(seen(played)).to.deep.equal({ outcome: 'completed', paid: [], asked: [] })
    const after = await again(['executeTool', 2], amount(5000), ALL)
    expect(seen(after)).to.deep.equal(asksFor(5000))
    const refused = await again(['executeTool', 0], amount(7000), ALL).catch((error: Error) => error.message)
    expect(refused).to.equal('arguments: no model asked for call 3 with these arguments; edit its result')
    expect(paid()).to.deep.equal([])
  })

  it('asks again with the arguments of the model where a person had edited them; a rejected call stays so', async () => {
    const { waiting } = await record(payer('edited', [pay(4000, 5000)]))
    const given = [{ decision: 'edit', arguments: { amount: 2 } }, { decision: 'reject' }] as const
    const { first, again } = await decide('edited', waiting, given)
    expect(first).to.deep.equal([2])
    expect(seen(await again(['executeTool', 0], {}, ALL))).to.deep.equal(asksFor(4000))
    expect(seen(await again(['generate', 0], {}, ALL))).to.deep.equal({ outcome: 'completed', paid: [], asked: [] })
  })

  it('gives an edited result to its own call alone, and asks about those that follow', async () => {
    const { again } = await record(payer('result', [pay(10, 10, 20), pay(30)]))
    globals.slowAmounts = [10]
    const rerun = await again(['executeTool', 1], { result: 'lost' }, ALL)
    expect(seen(rerun)).to.deep.equal({ outcome: 'completed', paid: [20, 30], asked: [] })
    expect(toolTexts(rerun)).to.deep.equal(['paid 10', 'lost', 'paid 20', 'paid 30'])
  })

  it('asks where a live model asks for another call', async () => {
    const { again } = await record(payer('model', [pay(10), pay(20)]))
    recording.host.unregister('model')
    await recording.host.register(payer('model', [pay(10), pay(5000)]))
    expect(seen(await again(['generate', 1], {}, ALL))).to.deep.equal(asksFor(5000))
    const played = await again(['generate', 1], {}, ['llm'])
    expect([played.outcome, played.paid]).to.deep.equal([played.outcome, []])
    expect(played.outcome).to.include('pay({"amount":5000})')
  })

  it('executes nothing where a policy would have to ask a model that comes from the tape', async () => {
    const { again } = await record(limited('judged', [pay(10, 20)]))
    const { outcome, paid: now } = await again(['executeTool', 1], amount(5000))
    expect([now, outcome.includes('judge.generate')]).to.deep.equal([[], true])
    const refused = await again(['ruleFor', 1], { result: 'never' }).catch((error: Error) => error.message)
    expect(refused).to.equal('result: with live tools their policies are asked for real')
    const part = await again(['generate', 1], { result: 'never' }).catch((error: Error) => error.message)
    expect(part).to.match(/^result: call \d+ is a part of call \d+; edit that one$/)
  })

  it('asks about the calls that a tool makes: edited ones, and those that were approved on the tape', async () => {
    const order = (...amounts: readonly number[]) =>
      amounts.map((each) => ({ name: 'order', arguments: { amount: each } }))
    const { exchange, modules } = payer('office', [order(10, 20)])
    const office = {
      id: 'office',
      modules: [...modules, { id: 'office', module: 'office' }],
      exchange: [
        ...exchange.slice(0, 1),
        { module: 'loop', protocol: 'ToolProvider', provider: 'office' },
        { module: 'office', protocol: 'ToolProvider', provider: 'bank' },
      ],
    }
    const { first, again, waiting: small } = await record(office)
    expect([first, small.result?.status]).to.deep.equal([[10, 20], 'completed'])
    const orders = [0, 1]
    for (const index of orders) {
      const rerun = await again(['executeTool', index], amount(5000), ALL)
      expect([rerun.outcome, rerun.asked], String(index)).to.deep.equal(['waiting', [{ amount: 5000 }]])
      expect(rerun.paid).to.not.include(5000)
    }
    recording.host.unregister('office')
    const large = {
      ...office,
      modules: [{ id: 'llm', module: 'script', config: { steps: [order(5000)] } }, ...office.modules.slice(1)],
    }
    const { waiting } = await record(large)
    const decided = await decide('office', waiting, [{ decision: 'approve' }])
    expect(decided.first).to.deep.equal([5000])
    expect(seen(await decided.again(['executeTool', 0], {}, ALL))).to.deep.equal(asksFor(5000))
  })

  it('asks about the calls of a child, which begins anew', async () => {
    await recording.host.register(payer('helper', [pay(5000)]))
    const step = [{ name: 'helper', arguments: { message: 'Pay it' } }]
    const desk = {
      id: 'desk',
      modules: [
        { id: 'llm', module: 'script', config: { steps: [step] } },
        { id: 'team', module: 'tools/agents', config: { agents: ['helper'] } },
        { id: 'loop', module: 'orchestrator/tool-loop', config: {} },
      ],
    }
    const { waiting } = await record(desk)
    const { first, again } = await decide('desk', waiting, [{ decision: 'approve' }])
    expect(first).to.deep.equal([5000])
    expect(seen(await again(['executeTool', 0], {}, ALL))).to.deep.equal(asksFor(5000))
    expect(seen(await again(['executeTool', 0], {}, ['llm']))).to.deep.equal({
      outcome: 'completed',
      paid: [],
      asked: [],
    })
  })
})
