import type { LLM, LLMPart, LLMRequest, Message, RunEvent } from 'agent-host'
import { expect } from 'chai'
import { clockTools, clockFiles as files, runAgent } from '../../support/run-agent.ts'

type Reply = string | LLMPart[]

/** A model that gives these replies and remembers the requests. */
function scripted(replies: readonly Reply[]) {
  const asked: LLMRequest[] = []
  const llm: LLM = {
    async *generate(request) {
      const reply = replies[asked.length] ?? 'nothing more'
      asked.push({ ...request, messages: [...request.messages] })
      yield* typeof reply === 'string' ? [{ type: 'text' as const, text: reply }] : reply
      yield { type: 'finish', reason: 'stop' }
    },
  }
  return { llm, asked }
}

const call = (name: string, args: object = {}, more: object = {}): LLMPart => ({
  type: 'tool_call',
  call: { id: `call_${name}`, name, arguments: args as Record<string, unknown>, ...more },
})
const agent = (module: string) => ({
  id: 'agent',
  modules: [{ id: 'llm', module: 'llm/mock', config: { replies: ['x'] } }, clockTools, { id: 'loop', module }],
})
const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
const lookUp = { name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }

async function ask(module: string, replies: Reply[], facts: object = {}, text: string | Message[] = 'When?') {
  const { llm, asked } = scripted(replies)
  const events: RunEvent[] = []
  const onEvent = (event: RunEvent) => void events.push(event)
  const run = () => runAgent(agent(module), text, { files, overrides: { llm }, onEvent, ...facts })
  return { asked, events, outcome: await run().catch((error: Error & { code: string }) => error) }
}

const LOOP = 'orchestrator/tool-loop'
const REACT = 'orchestrator/react'

for (const isObserved of [false, true]) {
  const facts = isObserved ? { onCall: () => {} } : {}
  describe(`requests to orchestrators${isObserved ? ', with a listener' : ''}`, () => {
    it('a call with arguments that are no JSON is not executed, whoever would execute it, and the model reads what it wrote', async () => {
      const unreadable = '{"city": Lima}'
      const executed: string[] = []
      const tools = {
        listTools: () => [lookUp, { ...lookUp, name: 'guarded' }],
        needsApproval: (name: string) => name === 'guarded',
        executeTool: async (name: string) => {
          executed.push(name)
          return { text: 'done' }
        },
      }
      const clientTools = [{ ...lookUp, name: 'of_client' }]
      const step = ['look_up', 'guarded', 'of_client'].map((name) => call(name, {}, { unreadable }))
      const { llm, asked } = scripted([step, 'sorry'])
      const events: RunEvent[] = []
      const onEvent = (event: RunEvent) => void events.push(event)
      const options = { files, overrides: { llm, tools }, onEvent, clientTools, ...facts }
      expect((await runAgent(agent(LOOP), 'hi', options)).text).to.equal('sorry')
      expect(executed).to.deep.equal([])
      const results = asked[1]?.messages.filter(({ role }) => role === 'tool') ?? []
      expect(results).to.have.lengthOf(3)
      for (const { content } of results)
        expect(content).to.match(/no JSON object, so it was not executed\. .*\{"city": Lima\}$/)
      expect(events.filter(({ type }) => type === 'tool_result')).to.have.lengthOf(2)
    })

    it('JSON is found in a code fence inside prose, and behind thoughts', async () => {
      const written = [
        'Here:\n```json\n{"n": 1}\n```\nDone.',
        '<think>{"n": 2} or 3?</think>\n{"n": 1}',
        '```\n{"n": 1}```',
        'So\n```json\n{}\n``` or\n```\n{"n": 1}\n```',
      ]
      for (const reply of written) {
        for (const module of [LOOP, REACT]) {
          const said = module === REACT ? `Final Answer: ${reply}` : reply
          const { outcome, asked } = await ask(module, [said], { ...facts, requestOptions: { responseSchema: schema } })
          expect(outcome, reply).to.include({ text: '{"n": 1}' })
          expect(asked).to.have.lengthOf(1)
        }
      }
    })

    it('tool_choice forces a tool in the first step only', async () => {
      const replies: Reply[] = [[call('clock', { city: 'Lima' })], 'noon']
      const { asked } = await ask(LOOP, replies, { ...facts, requestOptions: { toolChoice: { tool: 'clock' } } })
      expect(asked.map(({ toolChoice }) => toolChoice)).to.deep.equal([{ tool: 'clock' }, undefined])
    })

    it('a step keeps its reasoning, metadata, attachments and failures, and streams reasoning to the client', async () => {
      const image = { mediaType: 'image/png', data: Uint8Array.of(1) }
      const tools = {
        listTools: () => [lookUp, { ...lookUp, name: 'fail' }],
        executeTool: async (name: string) =>
          name === 'fail' ? { text: 'no', isError: true } : { text: 'seen', attachments: [image] },
      }
      const step: LLMPart[] = [
        { type: 'reasoning', text: 'I ', blockId: 'a' },
        { type: 'reasoning', text: 'think', blockId: 'a' },
        { type: 'reasoning', text: '', blockId: 'a', providerMetadata: { v: { signature: 's' } } },
        { type: 'reasoning', text: '', blockId: 'b', providerMetadata: { v: { hidden: 'h' } } },
        { type: 'text', text: 'Wait.', providerMetadata: { v: { item: 'i' } } },
        call('look_up', {}, { providerMetadata: { v: { call: 'c' } } }),
        call('fail'),
      ]
      const { llm, asked } = scripted([step, 'done'])
      const events: RunEvent[] = []
      const onEvent = (event: RunEvent) => void events.push(event)
      const { trail } = await runAgent(agent(LOOP), 'hi', { files, overrides: { llm, tools }, onEvent, ...facts })
      const added = [
        {
          role: 'assistant',
          content: 'Wait.',
          reasoning: [
            { text: 'I think', providerMetadata: { v: { signature: 's' } } },
            { text: '', providerMetadata: { v: { hidden: 'h' } } },
          ],
          toolCalls: [
            { id: 'call_look_up', name: 'look_up', arguments: {}, providerMetadata: { v: { call: 'c' } } },
            { id: 'call_fail', name: 'fail', arguments: {} },
          ],
          providerMetadata: { v: { item: 'i' } },
        },
        { role: 'tool', content: 'seen', toolCallId: 'call_look_up', attachments: [image] },
        { role: 'tool', content: 'no', toolCallId: 'call_fail', isError: true },
      ]
      expect(asked[1]?.messages.slice(1)).to.deep.equal(added)
      expect(trail.slice(1, 4)).to.deep.equal(added)
      // The data of a block comes last; the protocols send no empty piece.
      expect(events.filter(({ type }) => type === 'reasoning')).to.deep.equal(
        step.filter(({ type }) => type === 'reasoning'),
      )
    })

    const forms: [module: string, (json: string) => string][] = [
      [LOOP, (json) => json],
      [REACT, (json) => `Thought: I know.\nFinal Answer: ${json}`],
    ]
    for (const [module, write] of forms) {
      it(`${module}: an answer that does not match the schema is retried once, and never sent`, async () => {
        const requestOptions = { responseSchema: schema }
        const once = await ask(module, [write('{"n":"1"}'), write('```json\n{"n":1}\n```')], {
          ...facts,
          requestOptions,
        })
        expect(once.outcome).to.have.property('text', '{"n":1}')
        expect(once.asked[1]?.messages.at(-1)?.content).to.match(/^That does not fit: n must be a number\. Answer with/)
        const twice = await ask(module, [write('{"n":"1"}'), write('{}'), write('{"n":1}')], {
          ...facts,
          requestOptions,
        })
        expect(twice.outcome).to.include({ code: 'OUTPUT_INVALID' })
        expect(twice.asked).to.have.lengthOf(2)
        expect(twice.events.filter(({ type }) => type === 'text')).to.deep.equal([])
      })

      it(`${module}: an answer whose check takes too long is checked once, and never sent`, async () => {
        const n = { type: 'string', pattern: '^(a+)+$' }
        const requestOptions = { responseSchema: { type: 'object', properties: { n } } }
        const { outcome, events } = await ask(module, [write(`{"n":"${'a'.repeat(40)}!"}`)], {
          ...facts,
          requestOptions,
        })
        const message = 'The model did not answer as the requested schema says: its checks take too long.'
        expect(outcome).to.include({ code: 'OUTPUT_INVALID', message })
        expect(events.filter(({ type }) => type === 'text')).to.deep.equal([])
      })
    }

    it('text before a tool call is not part of an answer with a schema', async () => {
      const replies: Reply[] = [[{ type: 'text', text: 'One moment.' }, call('clock', { city: 'Lima' })], '{"n":1}']
      const { outcome, asked } = await ask(LOOP, replies, { ...facts, requestOptions: { responseSchema: schema } })
      expect(outcome).to.have.property('text', '{"n":1}')
      expect(asked.map(({ responseSchema }) => responseSchema)).to.deep.equal([schema, schema])
    })

    const answered: Message[] = [
      { role: 'user', content: 'When?' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'look_up', arguments: { q: 1 } }] },
      { role: 'tool', content: 'at noon', toolCallId: 'c' },
    ]
    it('a conversation that ends in tool results continues from them', async () => {
      const loop = await ask(LOOP, ['Noon.'], { ...facts, clientTools: [lookUp] }, answered)
      expect(loop.asked[0]?.messages).to.deep.equal(answered)
      const react = await ask(REACT, ['Final Answer: Noon.'], { ...facts, clientTools: [lookUp] }, answered)
      expect(react.asked[0]?.messages.slice(1)).to.deep.equal([
        { role: 'user', content: 'When?' },
        { role: 'assistant', content: 'Action: look_up\nAction Input: {"q":1}' },
        { role: 'user', content: 'Observation: at noon' },
      ])
      expect([loop.outcome, react.outcome].map((outcome) => (outcome as { text: string }).text)).to.deep.equal([
        'Noon.',
        'Noon.',
      ])
    })

    it('orchestrator/react: an observation keeps the attachments and the failure of a tool', async () => {
      const image = { mediaType: 'image/png', data: Uint8Array.of(1) }
      const tools = {
        listTools: () => [lookUp],
        executeTool: async () => ({ text: 'blurred', attachments: [image], isError: true }),
      }
      const { llm, asked } = scripted(['Action: look_up\nAction Input: {}', 'Final Answer: Seen.'])
      await runAgent(agent(REACT), 'hi', { files, overrides: { llm, tools }, ...facts })
      const observed = { role: 'user', content: 'Observation: Error: blurred', attachments: [image] }
      expect(asked[1]?.messages.at(-1)).to.deep.equal(observed)
    })

    it('a router continues with the handler whose tool the client ran', async () => {
      const router = {
        id: 'agent',
        modules: [
          { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } },
          { id: 'times', module: LOOP },
          { id: 'jokes', module: LOOP },
          {
            id: 'router',
            module: 'orchestrator/router',
            config: { handlers: [{ name: 'times', keywords: ['when'] }, { name: 'jokes' }] },
          },
        ],
        exchange: [
          { module: '__entry__', protocol: 'TextMessageHandler', provider: 'router' },
          { module: 'router', protocol: 'TextMessageHandler', provider: ['times', 'jokes'] },
        ],
      }
      const { llm, asked } = scripted([[call('look_up')], 'Noon.', 'times', [call('look_up')], 'times', 'One.'])
      const go = async (text: string) => {
        const options = { overrides: { llm }, clientTools: [lookUp], ...facts }
        const waiting = await runAgent(router, text, options)
        expect(waiting.pending.map(({ callId, kind }) => [callId, kind])).to.deep.equal([
          ['call_look_up', 'client_tool'],
        ])
        const output: Message = { role: 'tool', content: 'at noon', toolCallId: 'call_look_up' }
        const { status, text: said } = await runAgent(router, [...waiting.trail, output], options)
        return [status, said]
      }
      // By keyword, and by the model, which is asked about the question and not about the output.
      expect(await go('When?')).to.deep.equal(['completed', 'Noon.'])
      expect(await go('How late?')).to.deep.equal(['completed', 'One.'])
      expect(asked.at(-2)?.messages.at(-1)).to.deep.equal({ role: 'user', content: 'user: How late?' })
      expect(asked.at(-1)?.messages.at(-1)).to.deep.equal({
        role: 'tool',
        content: 'at noon',
        toolCallId: 'call_look_up',
      })
    })

    it('a pipeline that waits for a client tool continues with its result, each stage with its own question', async () => {
      const pipeline = {
        id: 'agent',
        modules: [
          { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } },
          { id: 'stage', module: 'orchestrator/stage' },
          { id: 'first', module: LOOP },
          { id: 'second', module: LOOP },
          { id: 'line', module: 'orchestrator/pipeline' },
        ],
        exchange: [
          { module: '__entry__', protocol: 'TextMessageHandler', provider: 'line' },
          { module: 'line', protocol: 'TextMessageHandler', provider: ['first', 'second'] },
        ],
      }
      const requestOptions = { toolChoice: 'required' as const, responseSchema: schema }
      const { llm, asked } = scripted(['draft', '{"n":2}'])
      const { text } = await runAgent(pipeline, answered, { overrides: { llm }, requestOptions, ...facts })
      expect(text).to.equal('{"n":2}')
      expect(asked.map(({ messages }) => [messages[0]?.content, messages.at(-1)?.content])).to.deep.equal([
        ['When?', 'at noon'],
        ['draft', 'at noon'],
      ])
      expect(asked.map(({ toolChoice, responseSchema }) => [toolChoice, responseSchema])).to.deep.equal([
        ['required', undefined],
        [undefined, schema],
      ])
    })
  })
}
