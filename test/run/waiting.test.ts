import { AgentHost, type LLMPart, type Message, type PendingAnswer, type RunEvent, type ToolCall } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

/** `tools.ts`: `pay` needs an approval, `choose` and `sign_in` ask, `note` and `careless` do neither, `endless` never ends; `done` has what was executed. */
const MODULES = {
  'modules/tools.ts': `import { defineModule, ToolProvider } from 'agent-host'
const done = (globalThis.waitingDone ??= [])
const parameters = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
export default defineModule({ name: 'Tools', provides: [ToolProvider], create: () => ({
  listTools: () => ['pay', 'choose', 'sign_in', 'note', 'careless', 'endless'].map((name) => ({ name, description: name, parameters: name === 'pay' ? parameters : { type: 'object' } })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, args, run) {
    if (name === 'choose') {
      const color = await run.ask({ message: 'Which color?', schema: { type: 'string' } })
      const size = await run.ask({ message: 'Which size?', schema: { type: 'number' } })
      done.push('choose')
      return { text: color + size }
    }
    if (name === 'careless') {
      await run.ask({ message: 'Sure?', schema: { type: 'boolean' } }).catch((error) => done.push(error.name))
      return { text: 'went on' }
    }
    if (name === 'sign_in') return { text: String(await run.ask({ message: 'Sign in.', schema: { type: 'string' }, url: args.url })) }
    if (name === 'endless') await new Promise(() => {})
    done.push(name + JSON.stringify(args))
    return { text: name + ' ' + args.amount }
  } }) })`,
  'modules/hasty.ts': `import { defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Hasty', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    void tools[0].executeTool('endless', {}, run.with({ toolCallId: 'e1' })).catch(() => {})
    await new Promise(setImmediate)
    await response.respondText('left')
  } }) })`,
  'modules/stubborn.ts': `import { defineModule, LLM, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Stubborn', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    try { await tools[0].executeTool('pay', { amount: 1 }, run) } catch {}
    try { await tools[0].executeTool('note', { amount: 2 }, run) } catch {}
    try { await response.respondText('paid') } catch {}
  } }) })`,
}

const executed = (): string[] => {
  const globals = globalThis as { waitingDone?: string[] }
  globals.waitingDone ??= []
  return globals.waitingDone
}

const call = (id: string, name: string, args: object = {}): ToolCall => ({ id, name, arguments: { ...args } })
const calls = (...made: ToolCall[]): LLMPart[] => [
  { type: 'text', text: 'Let me see.' },
  ...made.map((one): LLMPart => ({ type: 'tool_call', call: one })),
  { type: 'finish', reason: 'tool_calls' },
]
const says = (text: string): LLMPart[] => [
  { type: 'text', text },
  { type: 'finish', reason: 'stop' },
]
const PAY = call('c1', 'pay', { amount: 40 })
const WEATHER = { name: 'weather', description: 'Of a city', parameters: { type: 'object' } }
const HI: Message = { role: 'user', content: 'hi' }

for (const observed of [false, true]) {
  describe(`a waiting run${observed ? ', observed' : ''}`, () => {
    let host: AgentHost
    let asked: (readonly Message[])[]

    beforeEach(async () => {
      const project = await makeProject(MODULES)
      host = new AgentHost({ projectDir: project.dir })
      asked = []
      executed().length = 0
      if (observed) host.onEvent(() => {})
      await host.register({
        id: 'a',
        modules: [
          { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } },
          { id: 'tools', module: 'tools' },
          { id: 'loop', module: 'orchestrator/tool-loop' },
        ],
      })
      await host.register({
        id: 'hasty',
        modules: [
          { id: 'tools', module: 'tools' },
          { id: 'main', module: 'hasty' },
        ],
      })
      await host.register({
        id: 'stubborn',
        modules: [
          { id: 'tools', module: 'tools' },
          { id: 'main', module: 'stubborn' },
        ],
      })
    })
    afterEach(() => host.close(0))

    /** A model that answers with these parts, one answer after the other. */
    function model(...answers: LLMPart[][]) {
      return {
        llm: {
          async *generate({ messages }: { messages: readonly Message[] }) {
            asked.push([...messages])
            yield* answers.shift() ?? says('nothing more')
          },
        },
      }
    }

    const answer = (trail: readonly Message[], answers: PendingAnswer[], ...replies: LLMPart[][]) =>
      host.run('a', trail, { answers, overrides: model(...replies) })

    it('uses a decision once, even if the model repeats the id of the call', async () => {
      const waiting = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      const approve = { callId: 'c1', kind: 'approval', decision: 'approve' } as const
      const again = await answer(waiting.trail, [approve], calls(PAY), says('Paid.'))
      expect([again.status, executed()]).to.deep.equal(['waiting', ['pay{"amount":40}']])
    })

    it('waits for a client tool as long as it takes, and continues with its output', async () => {
      const events: RunEvent[] = []
      const weather = call('w1', 'weather', { city: 'Lima' })
      const waiting = await host.run('a', 'hi', {
        clientTools: [WEATHER],
        ttlSeconds: 60,
        overrides: model(calls(weather)),
        onEvent: (event) => void events.push(event),
      })
      const { runId } = waiting
      const pending = { callId: 'w1', runId, kind: 'client_tool', name: 'weather', arguments: { city: 'Lima' } }
      expect([waiting.status, waiting.text, waiting.pending]).to.deep.equal(['waiting', 'Let me see.', [pending]])
      expect(waiting.trail).to.deep.equal([HI, { role: 'assistant', content: 'Let me see.', toolCalls: [weather] }])
      expect(events).to.deep.equal([
        { type: 'text', text: 'Let me see.' },
        { type: 'pending', pending },
        { type: 'end', status: 'waiting', reason: undefined },
      ])
      const output = { callId: 'w1', kind: 'client_tool', result: { text: 'rain' } } as const
      const ended = await answer(waiting.trail, [output], says('It rains.'))
      expect([ended.status, ended.text]).to.deep.equal(['completed', 'It rains.'])
      const result = { role: 'tool', content: 'rain', toolCallId: 'w1' } as const
      expect(ended.trail).to.deep.equal([...waiting.trail, result, { role: 'assistant', content: 'It rains.' }])
      expect(asked.at(-1)).to.deep.equal([...waiting.trail, result])
    })

    it('names in its events the waiting run that it continues', async () => {
      const named: unknown[] = []
      host.onEvent(({ run_id, continues }) => void named.push({ run_id, continues }), 'orchestrator/tool-loop.')
      const { runId, trail, pending } = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      const answers: PendingAnswer[] = [{ callId: 'c1', kind: 'approval', decision: 'reject' }]
      const next = await host.run('a', trail, { answers, pending, overrides: model(calls(PAY)) })
      expect(pending[0]?.runId).to.equal(runId)
      expect(next.pending[0]?.runId).to.equal(next.runId)
      const ofFirst = { run_id: runId, continues: null }
      const ofNext = { run_id: next.runId, continues: runId }
      expect(named).to.deep.equal([ofFirst, ofFirst, ofNext, ofNext])
    })

    it("executes and keeps the agent's own calls of a step that also calls a client", async () => {
      const note = call('n1', 'note', { amount: 7 })
      const options = { clientTools: [WEATHER], overrides: model(calls(call('w1', 'weather'), note)) }
      const { pending, trail } = await host.run('a', 'hi', options)
      expect(pending.map(({ callId }) => callId)).to.deep.equal(['w1'])
      expect(executed()).to.deep.equal(['note{"amount":7}'])
      expect(trail.at(-1)).to.deep.equal({ role: 'tool', content: 'note 7', toolCallId: 'n1' })
    })

    it('has a call in its trail that it left behind, with an unknown outcome', async () => {
      const text = "Outcome unknown: the run ended during the call of 'endless'. It may have been carried out."
      expect((await host.run('hasty', 'hi')).trail).to.deep.equal([
        HI,
        { role: 'assistant', content: '', toolCalls: [call('e1', 'endless')] },
        { role: 'tool', content: text, toolCallId: 'e1', isError: true },
        { role: 'assistant', content: 'left' },
      ])
    })

    it('returns only the client calls if the trail is lost', async () => {
      const note = call('n1', 'note', { amount: 7 })
      const weather = call('w1', 'weather')
      const options = { clientTools: [WEATHER], isTrailLost: true, overrides: model(calls(note, weather)) }
      const { pending, trail } = await host.run('a', 'hi', options)
      expect(pending.map(({ callId }) => callId)).to.deep.equal(['w1'])
      expect(executed()).to.deep.equal([])
      expect(trail.at(-1)).to.deep.include({ role: 'assistant', toolCalls: [weather] })
    })

    it('executes an approved call once, without asking the model again', async () => {
      const waiting = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      const [pending] = waiting.pending
      expect(pending).to.deep.include({ callId: 'c1', kind: 'approval', name: 'pay', arguments: { amount: 40 } })
      expect(pending?.schema).to.deep.include({ required: ['amount'] })
      expect(executed()).to.deep.equal([])
      const { digest } = pending as { digest: string }
      const { text } = await answer(
        waiting.trail,
        [{ callId: 'c1', kind: 'approval', decision: 'approve', digest }],
        says('Paid.'),
      )
      expect(text).to.equal('Paid.')
      expect(executed()).to.deep.equal(['pay{"amount":40}'])
      expect(asked).to.have.lengthOf(2)
      expect(asked[1]?.at(-1)).to.deep.equal({ role: 'tool', content: 'pay 40', toolCallId: 'c1' })
    })

    describe('whose agent has a tool module that cannot list its tools any more', () => {
      const listsNothing = { listTools: () => Promise.reject(new Error('offline')), executeTool: () => ({ text: '' }) }
      const approve: PendingAnswer[] = [{ callId: 'c1', kind: 'approval', decision: 'approve' }]

      beforeEach(async () => {
        const module = (id: string) => ({ id, module: 'tools' })
        const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
        const modules = [
          { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } },
          module('first'),
          module('tools'),
          loop,
        ]
        await host.register({ id: 'b', modules })
      })

      const waitFor = async () => {
        const first = { ...listsNothing, listTools: () => [] }
        return host.run('b', 'hi', { overrides: { ...model(calls(PAY)), first } })
      }

      it('executes an approved call of another', async () => {
        const { trail } = await waitFor()
        const overrides = { ...model(says('Paid.')), first: listsNothing }
        await host.run('b', trail, { answers: approve, overrides }).catch(() => {})
        expect(executed()).to.deep.equal(['pay{"amount":40}'])
      })

      it('fails before an approved call of its own, which is not spent', async () => {
        const { trail, pending } = await host.run('stubborn', 'hi')
        const answers = approve.map((answer) => ({ ...answer, callId: pending[0]?.callId ?? '' }))
        const tools = { ...listsNothing, listTools: () => Promise.reject('offline') }
        const failed = await host
          .run('stubborn', trail, { answers, overrides: { tools } })
          .catch(({ message }) => message)
        expect(failed).to.equal('offline')
      })
    })

    it('reports a rejection and changed arguments to the model', async () => {
      const { trail } = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      await answer(trail, [{ callId: 'c1', kind: 'approval', decision: 'reject', reason: 'too much' }])
      expect(executed()).to.deep.equal([])
      expect(asked[1]?.at(-1)).to.deep.equal({
        role: 'tool',
        content: "A person rejected this call of 'pay'; it was not executed. Reason: too much",
        toolCallId: 'c1',
        isError: true,
      })
      await answer(trail, [{ callId: 'c1', kind: 'approval', decision: 'edit', arguments: { amount: 4 } }])
      expect(executed()).to.deep.equal(['pay{"amount":4}'])
      expect(asked[2]?.at(-1)?.content).to.equal('(A person changed the arguments to {"amount":4}.)\npay 4')
    })

    it('asks again if the decision was about another call, or is none', async () => {
      const { trail } = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      const others: PendingAnswer[] = [
        { callId: 'c1', kind: 'approval', decision: 'approve', digest: 'other' },
        { callId: 'c1', kind: 'question', answers: [true] },
      ]
      for (const other of others) {
        const again = await answer(trail, [other])
        expect(again.pending.map(({ callId, kind }) => [callId, kind])).to.deep.equal([['c1', 'approval']])
      }
      expect(executed()).to.deep.equal([])
    })

    it('executes nothing before the last of several calls is decided', async () => {
      const second = call('c2', 'pay', { amount: 2 })
      const waiting = await host.run('a', 'hi', { overrides: model(calls(PAY, second)) })
      expect(waiting.pending).to.have.lengthOf(2)
      const half = await host.run('a', waiting.trail, {
        answers: [{ callId: 'c2', kind: 'approval', decision: 'approve' }],
        pending: waiting.pending,
        overrides: model(),
      })
      expect([half.status, half.pending.map(({ callId }) => callId)]).to.deep.equal(['waiting', ['c1']])
      expect(executed()).to.deep.equal([])
      await host.run('a', half.trail, {
        answers: [{ callId: 'c1', kind: 'approval', decision: 'reject' }],
        pending: half.pending,
        overrides: model(),
      })
      expect(executed()).to.deep.equal(['pay{"amount":2}'])
    })

    it('lets no orchestrator bypass an approval', async () => {
      const { status, text, pending } = await host.run('stubborn', 'hi')
      expect([status, text, pending.map(({ name }) => name)]).to.deep.equal(['waiting', '', ['pay']])
      expect(executed()).to.deep.equal([])
    })

    it('asks one question after the other, and reruns the tool from its start', async () => {
      const first = await host.run('a', 'hi', { overrides: model(calls(call('q1', 'choose'))) })
      const [color] = first.pending
      expect(color).to.deep.include({ callId: 'q1', kind: 'question', message: 'Which color?', earlierAnswers: [] })
      const second = await answer(first.trail, [{ callId: 'q1', kind: 'question', answers: ['red'] }])
      expect(second.pending[0]).to.deep.include({ message: 'Which size?', earlierAnswers: ['red'] })
      const { text } = await answer(
        second.trail,
        [{ callId: 'q1', kind: 'question', answers: ['red', 3] }],
        says('Chosen.'),
      )
      expect(text).to.equal('Chosen.')
      expect(executed()).to.deep.equal(['choose'])
      expect(asked.at(-1)?.at(-1)).to.deep.equal({ role: 'tool', content: 'red3', toolCallId: 'q1' })
    })

    it('refuses the address of a question that no browser opens', async () => {
      const signIn = (url: string) =>
        host.run('a', 'hi', { overrides: model(calls(call('q1', 'sign_in', { url })), says('Failed.')) })
      for (const url of ['example.com/login', 'javascript:alert(1)', '']) {
        expect((await signIn(url)).text).contain('Failed.')
        expect(asked.at(-1)?.at(-1)?.content).contain(
          `run.ask was called with the url '${url}', which is no http(s) address.`,
        )
      }
      expect((await signIn('https://id.test/?state=s1')).pending[0]).include({ url: 'https://id.test/?state=s1' })
    })

    it('waits for a question even if the tool catches the interruption', async () => {
      const { status, pending } = await host.run('a', 'hi', { overrides: model(calls(call('q1', 'careless'))) })
      expect([status, pending[0]?.message]).to.deep.equal(['waiting', 'Sure?'])
      expect(executed()).to.deep.equal(['RunWaits'])
    })

    it('rejects answers to unknown calls, invalid answers, and duplicate tool names', async () => {
      const { trail, pending } = await host.run('a', 'hi', { overrides: model(calls(PAY)) })
      const failing = (options: object) =>
        host.run('a', trail, { overrides: model(), ...options }).then(
          () => 'no failure',
          (error) => [error.code, error.message],
        )
      expect(await failing({ answers: [{ callId: 'c9', kind: 'approval', decision: 'approve' }] })).to.deep.equal([
        'REQUEST_INVALID',
        "No call 'c9' waits for an answer.",
      ])
      const edit = { callId: 'c1', kind: 'approval', decision: 'edit', arguments: { amount: 'many' } }
      expect(await failing({ answers: [edit], pending })).to.deep.equal([
        'REQUEST_INVALID',
        "The answer to 'c1' does not fit: amount must be a number.",
      ])
      expect(await failing({ clientTools: [{ ...WEATHER, name: 'note' }] })).to.deep.equal([
        'REQUEST_INVALID',
        "tools: agent 'a' has a tool 'note' of its own. Rename yours.",
      ])
      expect(executed()).to.deep.equal([])
    })
  })
}
