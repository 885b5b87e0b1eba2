import { AgentHost, type LLMPart, type Message, type PendingAnswer, type RunResult, type ToolCall } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

/** `pay` needs an approval, `choose` asks; `done` has what was executed. */
const FILES = {
  'modules/tools.ts': `import { defineModule, ToolProvider } from 'agent-host'
const done = (globalThis.repeatedDone ??= [])
export default defineModule({ name: 'Tools', provides: [ToolProvider], create: () => ({
  listTools: () => ['pay', 'choose', 'note'].map((name) => ({ name, description: name, parameters: { type: 'object' } })),
  needsApproval: (name) => name === 'pay',
  async executeTool(name, { n }, run) {
    const color = name === 'choose' ? await run.ask({ message: 'Which color?', schema: { type: 'string' } }) : ''
    done.push(name + n + color)
    return { text: name + n + color } } }) })`,
  // Numbers the calls of each turn by itself, as one does that reads them from a text.
  'modules/numbering.ts': `import { defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Numbering', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    for (const name of text.split(' ')) await tools[0].executeTool(name, { n: text.length }, run.with({ toolCallId: 'call_0' }))
    await response.respondText('done') } }) })`,
  // Passes on copies of what another model says.
  'modules/passing.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Passing', provides: [LLM], uses: { inner: LLM }, create: ({ inner }) => ({
  async *generate(request, run) {
    for await (const part of inner.generate(request, run)) yield part.call ? { ...part, call: { ...part.call } } : part } }) })`,
}

const executed = (): string[] => {
  const globals = globalThis as { repeatedDone?: string[] }
  globals.repeatedDone ??= []
  return globals.repeatedDone
}

const LOOK = { name: 'look', description: 'Of the client', parameters: { type: 'object' } }
const HI: Message = { role: 'user', content: 'hi' }
const call = (name: string, n: number, id = 'call_0'): ToolCall => ({ id, name, arguments: { n } })
const asks = (...calls: ToolCall[]): LLMPart[] => [
  ...calls.map((one): LLMPart => ({ type: 'tool_call', call: one })),
  { type: 'finish', reason: 'tool_calls' },
]
const SAYS: LLMPart[] = [
  { type: 'text', text: 'done' },
  { type: 'finish', reason: 'stop' },
]
const HOST_ID = /^call_[\da-f-]{36}_\d+$/

for (const observed of [false, true]) {
  describe(`ids of calls that repeat${observed ? ', observed' : ''}`, () => {
    let host: AgentHost
    /** Calls and results, by their ids, of each request as the model got it. */
    let sent: string[][]

    beforeEach(async () => {
      const { dir } = await makeProject(FILES)
      host = new AgentHost({ projectDir: dir })
      if (observed) host.onEvent(() => {})
      sent = []
      executed().length = 0
      const llm = { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } }
      const rest = [
        { id: 'tools', module: 'tools' },
        { id: 'loop', module: 'orchestrator/tool-loop' },
      ]
      await host.register({ id: 'a', modules: [llm, ...rest] })
      for (const passing of ['passing', 'llm/fallback']) {
        const exchange = [
          { module: 'loop', protocol: 'LLM', provider: 'outer' },
          { module: 'outer', protocol: 'LLM', provider: 'llm' },
        ]
        await host.register({
          id: passing.replace('/', '-'),
          modules: [llm, { id: 'outer', module: passing }, ...rest],
          exchange,
        })
      }
      await host.register({ id: 'numbering', modules: [rest[0], { id: 'main', module: 'numbering' }] as never })
    })
    afterEach(() => host.close(0))

    /** A model that answers with these parts, one answer after the other. */
    function model(...answers: LLMPart[][]) {
      return {
        llm: {
          async *generate({ messages }: { messages: readonly Message[] }) {
            sent.push(messages.flatMap(describeIds))
            yield* answers.shift() ?? SAYS
          },
        },
      }
    }

    function describeIds(message: Message): string[] {
      if (message.role === 'tool') return [`${message.toolCallId}=${message.content}`]
      const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
      return calls.map(({ name, arguments: { n }, ...one }) => `${Object.values(one).join()} ${name}${n}`)
    }

    const begin = (...answers: LLMPart[][]) =>
      host.run('a', [HI], { clientTools: [LOOK], overrides: model(...answers) })
    /** Goes on as one does that keeps JSON in between. */
    const goOn = (
      { trail, pending }: Pick<RunResult, 'trail'> & { pending?: RunResult['pending'] },
      answers: PendingAnswer[],
      ...replies: LLMPart[][]
    ) => {
      const kept = JSON.parse(JSON.stringify({ messages: trail, pending }))
      return host.run('a', kept.messages, { ...kept, answers, clientTools: [LOOK], overrides: model(...replies) })
    }
    const idOf = ({ pending }: RunResult, index = 0): string => pending[index]?.callId ?? ''
    const output = (callId: string, text: string) => ({ callId, kind: 'client_tool', result: { text } }) as const
    const approve = (callId: string) => ({ callId, kind: 'approval', decision: 'approve' }) as const

    it('differ for clients, and the model gets its own back', async () => {
      const first = await begin(asks(call('look', 0)))
      const second = await goOn(first, [output('call_0', 'zero')], asks(call('look', 1)))
      const third = await goOn(second, [output(idOf(second), 'one')], asks(call('look', 2)))
      const last = await goOn(third, [output(idOf(third), 'two')])
      expect(last).to.include({ status: 'completed', text: 'done' })
      const ids = [first, second, third].map((result) => idOf(result))
      expect(ids[0]).to.equal('call_0')
      expect(ids.slice(1).every((id) => HOST_ID.test(id))).to.equal(true)
      expect(new Set(ids).size).to.equal(3)
      expect(sent.at(-1)).to.deep.equal([
        'call_0 look0',
        'call_0=zero',
        'call_0 look1',
        'call_0=one',
        'call_0 look2',
        'call_0=two',
      ])
    })

    it('differ within one run', async () => {
      const ended = await begin(asks(call('note', 0)), asks(call('note', 1)), SAYS)
      const results = ended.trail.flatMap((message) => (message.role === 'tool' ? [message] : []))
      expect(results.map(({ content }) => content)).to.deep.equal(['note0', 'note1'])
      const [first, second] = results
      expect(first?.toolCallId).to.equal('call_0')
      expect(second?.toolCallId).to.match(HOST_ID)
      expect(sent.at(-1)).to.deep.equal(['call_0 note0', 'call_0=note0', 'call_0 note1', 'call_0=note1'])
    })

    it('leave every approval open to a decision', async () => {
      const first = await begin(asks(call('note', 0)), asks(call('pay', 1)))
      expect(idOf(first)).to.match(HOST_ID)
      const second = await goOn(first, [approve(idOf(first))], asks(call('pay', 2)))
      const ended = await goOn(second, [approve(idOf(second))])
      expect([ended.status, executed()]).to.deep.equal(['completed', ['note0', 'pay1', 'pay2']])
      expect(sent.at(-1)).to.deep.equal([
        'call_0 note0',
        'call_0=note0',
        'call_0 pay1',
        'call_0=pay1',
        'call_0 pay2',
        'call_0=pay2',
      ])
    })

    it('keep questions apart', async () => {
      const first = await begin(asks(call('choose', 0)))
      const answer = (result: RunResult, color: string): PendingAnswer => ({
        callId: idOf(result),
        kind: 'question',
        answers: [color],
      })
      const second = await goOn(first, [answer(first, 'red')], asks(call('choose', 1)))
      expect(second.pending[0]).to.include({ kind: 'question', name: 'choose' })
      const ended = await goOn(second, [answer(second, 'blue')])
      expect([ended.status, executed()]).to.deep.equal(['completed', ['choose0red', 'choose1blue']])
    })

    it('of one step never are the same: each call has its own result', async () => {
      const first = await begin(asks(call('look', 0), call('look', 1), call('note', 2)))
      const [zero, one] = [idOf(first), idOf(first, 1)]
      expect(zero).to.equal('call_0')
      expect(one).to.match(HOST_ID)
      await goOn(first, [output(one, 'one'), output(zero, 'zero')])
      expect(sent.at(-1)).to.have.length(6)
      const [of0, of1, of2] = (sent.at(-1) ?? []).map((text) => text.split(' ')[0])
      expect(of1).to.equal(one)
      expect(sent.at(-1)).to.deep.equal([
        'call_0 look0',
        `${one} look1`,
        `${of2} note2`,
        `${of2}=note2`,
        'call_0=zero',
        `${one}=one`,
      ])
      expect(of0).to.not.equal(of2)
    })

    it('that are empty are the ids of the host', async () => {
      const first = await begin(asks(call('look', 0, ''), call('look', 1, '')))
      const [zero, one] = [idOf(first), idOf(first, 1)]
      expect(zero).to.match(HOST_ID)
      expect(one).to.match(HOST_ID)
      expect(zero).to.not.equal(one)
      await goOn(first, [output(one, 'one'), output(zero, 'zero')])
      expect(sent.at(-1)).to.deep.equal([`${zero} look0`, `${one} look1`, `${zero}=zero`, `${one}=one`])
    })

    for (const agent of ['passing', 'llm-fallback']) {
      it(`are those of the model behind '${agent}'`, async () => {
        const overrides = model(asks(call('look', 0)))
        const first = await host.run(agent, [HI], { clientTools: [LOOK], overrides })
        expect(idOf(first)).to.equal('call_0')
        const answers = [output('call_0', 'zero')]
        const next = model(asks(call('look', 1)))
        const second = await host.run(agent, first.trail, { answers, clientTools: [LOOK], overrides: next })
        const last = [output(idOf(second), 'one')]
        await host.run(agent, second.trail, { answers: last, clientTools: [LOOK], overrides: model(SAYS) })
        expect(sent.at(-1)).to.deep.equal(['call_0 look0', 'call_0=zero', 'call_0 look1', 'call_0=one'])
      })
    }

    it('in a given conversation differ for the run: a result answers the latest open call before it', async () => {
      const trail: Message[] = [
        HI,
        { role: 'assistant', content: '', toolCalls: [call('note', 0)] },
        { role: 'tool', content: 'note0', toolCallId: 'call_0' },
        { role: 'assistant', content: '', toolCalls: [call('pay', 1)] },
      ]
      const ended = await goOn({ trail }, [approve('call_0')])
      expect([ended.status, executed()]).to.deep.equal(['completed', ['pay1']])
      expect(sent.at(-1)).to.deep.equal(['call_0 note0', 'call_0=note0', 'call_0 pay1', 'call_0=pay1'])
      const ids = ended.trail.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
      expect(new Set(ids).size).to.equal(2)
      // What the model names so next is another call.
      const next = await goOn({ trail: [...ended.trail, HI] }, [], asks(call('look', 2)))
      expect(idOf(next)).to.match(HOST_ID)
    })

    it('of an orchestrator differ, too', async () => {
      const first = await host.run('numbering', 'note note')
      const second = await host.run('numbering', [...first.trail, { role: 'user', content: 'note pay' }])
      expect(second.pending[0]).to.include({ kind: 'approval', name: 'pay' })
      const { trail } = second
      const answers = [approve(idOf(second))]
      const { status } = await host.run('numbering', trail, { answers, pending: second.pending })
      const results = trail.flatMap((message) => (message.role === 'tool' ? [message] : []))
      expect(new Set(results.map(({ toolCallId }) => toolCallId)).size).to.equal(2)
      expect(results.map(({ content }) => content)).to.deep.equal(['note9', 'note8'])
      expect([status, executed().filter((name) => name === 'pay8')]).to.deep.equal(['waiting', ['pay8']])
    })
  })
}
