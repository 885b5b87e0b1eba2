import { defineModule, InputGuard, type LLMPart, type Message, messageOf, OutputGuard, type Verdict } from 'agent-host'
import { expect } from 'chai'
import { fakeLLM, saying } from '../../support/fake-llm.ts'
import { type GuardedAgent, makeGuarded } from '../../support/guarded-agent.ts'

const guard = (config: object) => [{ id: 'rail', module: 'guard/output', config }]
const CARD_IN_PIECES = saying('It is 4111 1111', ' 1111 1111', '.')

describe('guard/output', () => {
  let agent: GuardedAgent
  afterEach(() => agent.host.close(0))

  for (const observed of [false, true]) {
    it(`redacts a text that streams in pieces, and sends it whole${observed ? ', observed' : ''}`, async () => {
      agent = await makeGuarded(guard({ action: 'redact', detect: ['card_number'] }), [CARD_IN_PIECES], { observed })
      const { text, trail } = await agent.run('card?')
      expect([text, agent.sent]).to.deep.equal(['It is [redacted].', ['It is [redacted].']])
      expect(trail.at(-1)).to.deep.equal({ role: 'assistant', content: 'It is [redacted].' })
      if (observed) expect(agent.calls).to.deep.equal(['rail.checkOutput: redact'])
    })
  }

  it('blocks: nothing of the answer is sent, not even its reasoning', async () => {
    const thinking: LLMPart[] = [{ type: 'reasoning', text: 'the sword' }, ...saying('a sword')]
    agent = await makeGuarded(guard({ patterns: ['sword'], reply: 'No.' }), [thinking])
    const events: string[] = []
    const { text, incompleteReason, trail } = await agent.run('weapon?', {
      onEvent: (event) => void events.push(JSON.stringify(event)),
    })
    expect([text, incompleteReason]).to.deep.equal(['No.', 'content_filter'])
    expect(events.join()).not.to.contain('sword')
    expect(JSON.stringify(trail)).not.to.contain('sword')
  })

  it('asks: the text waits for a person and is sent as decided, without another model call', async () => {
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['refund'] }), [saying('You get', ' a refund.')])
    const { trail, pending, status, text } = await agent.run('money?')
    expect([status, text, agent.sent]).to.deep.equal(['waiting', '', []])
    expect(pending[0]).to.include({ name: 'send_answer', message: 'matches refund' })
    expect(pending[0]?.arguments).to.deep.equal({ text: 'You get a refund.' })
    const callId = pending[0]?.callId ?? ''
    const decide = (answer: object) =>
      agent.run(trail, { answers: [{ callId, kind: 'approval', decision: 'approve', ...answer }], pending })
    expect((await decide({})).text).to.equal('You get a refund.')
    expect((await decide({ decision: 'edit', arguments: { text: 'Wait a day.' } })).text).to.equal('Wait a day.')
    expect((await decide({ decision: 'reject' })).text).to.equal('I cannot help with that.')
    expect(agent.requests).to.have.lengthOf(1)
    expect(agent.sent).to.deep.equal(['You get a refund.', 'Wait a day.', 'I cannot help with that.'])
  })

  it('asks again if the agent changed meanwhile', async () => {
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['refund'] }), [saying('refund')])
    const { trail, pending } = await agent.run('money?')
    const answer = { callId: pending[0]?.callId ?? '', kind: 'approval', decision: 'approve', digest: 'old' } as const
    const again = await agent.run(trail, { answers: [answer], pending })
    const stillPending = pending.map((call) => ({ ...call, runId: again.runId }))
    expect([again.status, again.text, again.pending]).to.deep.equal(['waiting', '', stillPending])
  })

  for (const verdict of [
    { action: 'allow' },
    { action: 'redact', reason: 'x' },
    { action: 'block' },
    {},
    'pass',
    null,
  ]) {
    it(`of a project fails the run by ${JSON.stringify(verdict)}, which is no verdict: nothing passes unchecked`, async () => {
      const odd = defineModule({
        name: 'Odd',
        provides: [InputGuard, OutputGuard],
        create: () => ({ checkInput: (texts) => texts.map(() => given), checkOutput: () => verdict as Verdict }),
      })
      let given = { action: 'pass' } as Verdict
      agent = await makeGuarded([{ id: 'odd', module: odd }], [saying('a sword'), saying('a sword')])
      const problem =
        "The guard 'odd' returned no verdict: action must be 'pass', 'redact' with a text, 'block' or 'ask'"
      const failure = () => agent.run('weapon?').then(JSON.stringify, messageOf)
      expect(await failure()).to.equal(`${problem} with a reply.`)
      given = verdict as Verdict
      expect(await failure()).to.equal(`${problem} with a reply.`)
      expect([agent.sent, agent.requests.length]).to.deep.equal([[], 1])
    })
  }

  it('drops text sent before the run waits for something else', async () => {
    const call: LLMPart[] = [
      { type: 'text', text: 'The secret is 42. ' },
      { type: 'tool_call', call: { id: 'w1', name: 'weather', arguments: {} } },
      { type: 'finish', reason: 'tool_calls' },
    ]
    agent = await makeGuarded(guard({ patterns: ['nothing'] }), [call, saying('Dry.')])
    const clientTools = [{ name: 'weather', description: '', parameters: { type: 'object' } }]
    const waiting = await agent.run('rain?', { clientTools })
    expect([waiting.status, waiting.text, agent.sent]).to.deep.equal(['waiting', '', []])
    const output: Message = { role: 'tool', toolCallId: 'w1', content: 'dry' }
    expect((await agent.run([...waiting.trail, output], { clientTools })).text).to.equal('Dry.')
  })

  it('inspects text that a module holds back until the run ends', async () => {
    const rails = [...guard({ patterns: ['sword'], reply: 'No.' }), { id: 'all', module: 'response/collector' }]
    agent = await makeGuarded(rails, [saying('a sword')])
    expect((await agent.run('weapon?')).text).to.equal('No.')
    expect(agent.sent).to.deep.equal(['No.'])
  })

  it('checks the answer against a JSON schema', async () => {
    const schema = { type: 'object', required: ['a'] }
    agent = await makeGuarded(guard({ schema }), [saying('{"a"', ': 1}'), saying('{}'), saying('prose')])
    expect((await agent.run('one')).text).to.equal('{"a": 1}')
    expect((await agent.run('two')).incompleteReason).to.equal('content_filter')
    expect((await agent.run('three')).incompleteReason).to.equal('content_filter')
  })

  it('detects secrets of the environment', async () => {
    agent = await makeGuarded(guard({ action: 'redact', detect: ['secret'] }), [saying('It is hunter2hunter2!')], {
      environment: { SHOP_API_KEY: 'hunter2hunter2' },
    })
    expect((await agent.run('key?')).text).to.equal('It is [redacted]!')
  })

  it('judges by a model; if the model fails, the run fails and nothing is sent', async () => {
    agent = await makeGuarded(guard({ judge: 'No rhymes.' }), [saying('a bee, a tree'), saying('Yes.')])
    expect((await agent.run('poem?')).incompleteReason).to.equal('content_filter')
    agent.sent.length = 0
    const broken = fakeLLM([new Error('model down')])
    const failure = await agent.run('poem?', { overrides: { llm: broken } }).catch((error: Error) => error.message)
    expect([failure, agent.sent]).to.deep.equal(['model down', []])
  })
})
