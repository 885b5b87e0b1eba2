import type { LLMPart, Message } from 'agent-host'
import { expect } from 'chai'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { saying } from '../../support/fake-llm.ts'
import { type GuardedAgent, makeGuarded } from '../../support/guarded-agent.ts'

const guard = (config: object) => [{ id: 'rail', module: 'guard/input', config }]
const user = (content: string): Message => ({ role: 'user', content })
const said = (content: string): Message => ({ role: 'assistant', content })
const CARD = '4111 1111 1111 1111'

describe('guard/input', () => {
  let agent: GuardedAgent
  afterEach(() => agent.host.close(0))

  /** What the agent's model was shown, without its system messages. */
  const seen = () => agent.requests.map(({ messages }) => messages.filter(({ role }) => role !== 'system'))

  for (const observed of [false, true]) {
    it(`blocks: the agent is not called, the reply is sent${observed ? ', observed' : ''}`, async () => {
      agent = await makeGuarded(guard({ patterns: ['pass ?word'], reply: 'Not that.' }), [saying('Sure.')], {
        observed,
      })
      const { text, status, incompleteReason } = await agent.run('Tell me the PASSWORD')
      expect([text, status, incompleteReason]).to.deep.equal(['Not that.', 'completed', 'content_filter'])
      expect([agent.sent, agent.requests]).to.deep.equal([['Not that.'], []])
      if (observed) expect(agent.calls).to.deep.equal(['rail.checkInput: block'])
    })
  }

  it('passes text that breaks no rule, and does not delay the stream', async () => {
    agent = await makeGuarded(guard({ patterns: ['password'] }), [saying('Hi', ' there')])
    expect((await agent.run('hello')).text).to.equal('Hi there')
    expect(agent.sent).to.deep.equal(['Hi', ' there'])
    expect(agent.calls).to.deep.equal(['rail.checkInput: pass'])
  })

  it('redacts the whole conversation before the model sees it', async () => {
    agent = await makeGuarded(guard({ action: 'redact', detect: ['card_number', 'email'] }), [saying('ok')])
    await agent.run([user(`My card: ${CARD}.`), said('Thanks.'), user('Write to a.b@example.org, order 1234567890123')])
    expect(seen()).to.deep.equal([
      [user('My card: [redacted].'), said('Thanks.'), user('Write to [redacted], order 1234567890123')],
    ])
  })

  for (const rule of [{ patterns: ['^"(a+)+"$'] }, { schema: { type: 'string', pattern: '^(a+)+$' } }]) {
    it(`blocks a text that its ${Object.keys(rule)} take too long for`, async () => {
      agent = await makeGuarded(guard(rule), [saying('Sure.')])
      const spentMs = measureCpuTime()
      expect((await agent.run(`"${'a'.repeat(29)}!"`)).text).to.equal('I cannot help with that.')
      expect(spentMs()).to.be.lessThan(1500)
    })
  }

  it('finds the addresses of a long word, in the time that it takes to read it', async () => {
    agent = await makeGuarded(guard({ action: 'redact', detect: ['card_number', 'email'] }), [
      saying('ok'),
      saying('ok'),
    ])
    const spentMs = measureCpuTime()
    await agent.run('a'.repeat(200_000))
    expect(spentMs()).to.be.lessThan(1500)
    await agent.run('one a@b.org+c.d@e.org. two@three@f.org, a-b@c.')
    expect(seen()[1]).to.deep.equal([user('one [redacted]. two@[redacted], a-b@c.')])
  })

  it('tells numbers of cards from a long number in the time that it takes to read it', async () => {
    const config = { action: 'redact', detect: ['card_number'] }
    agent = await makeGuarded(guard(config), [saying('ok'), saying('ok')])
    const long = `${'1 '.repeat(12)}${'1'.repeat(20_000_000)}`
    const spentMs = measureCpuTime()
    await agent.run(long)
    expect(spentMs()).to.be.lessThan(700)
    await agent.run(`${CARD}... ${CARD}.5 ${CARD}..5 1.${CARD}`)
    expect(seen()[1]).to.deep.equal([user(`[redacted]... ${CARD}.5 ${CARD}..5 1.${CARD}`)])
  })

  it('withholds an earlier message that it blocks', async () => {
    agent = await makeGuarded(guard({ patterns: ['bomb'] }), [saying('ok')])
    await agent.run([user('build a bomb'), said('I cannot help with that.'), user('Do it anyway.')])
    expect(seen()).to.deep.equal([[user('[withheld]'), said('I cannot help with that.'), user('Do it anyway.')]])
  })

  it('asks: an approved message passes, and stays accepted in later turns', async () => {
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['delete'] }), [saying('Deleted.'), saying('Yes.')])
    const waiting = await agent.run('delete it')
    const [pending] = waiting.pending
    expect([waiting.status, waiting.text, agent.requests]).to.deep.equal(['waiting', '', []])
    expect(pending).to.include({ kind: 'approval', name: 'accept_message', message: 'matches delete' })
    expect(pending?.arguments).to.deep.equal({ text: 'delete it' })
    const answer = { callId: pending?.callId ?? '', kind: 'approval', decision: 'approve' } as const
    const ended = await agent.run(waiting.trail, { answers: [answer], pending: waiting.pending })
    expect([ended.status, ended.text]).to.deep.equal(['completed', 'Deleted.'])
    await agent.run([...ended.trail, user('Done?')])
    expect(seen()).to.deep.equal([[user('delete it')], [user('delete it'), said('Deleted.'), user('Done?')]])
  })

  it('asks: the model sees edited text, and nothing of a rejected message', async () => {
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['delete'], reply: 'No.' }), [saying('ok')])
    const { trail, pending } = await agent.run('delete it')
    const callId = pending[0]?.callId ?? ''
    const rejected = await agent.run(trail, { answers: [{ callId, kind: 'approval', decision: 'reject' }], pending })
    expect([rejected.text, rejected.incompleteReason, agent.requests]).to.deep.equal(['No.', 'content_filter', []])
    const edit = { callId, kind: 'approval', decision: 'edit', arguments: { text: 'keep it' } } as const
    await agent.run(trail, { answers: [edit], pending })
    expect(seen()).to.deep.equal([[user('keep it')]])
  })

  it('asks: an undecided message is withheld from later turns', async () => {
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['delete'] }), [saying('ok')])
    const { trail, pending } = await agent.run('delete it')
    const superseded: Message = {
      role: 'tool',
      toolCallId: pending[0]?.callId ?? '',
      content: 'superseded',
      isError: true,
    }
    await agent.run([...trail, superseded, user('hello')])
    expect(seen()).to.deep.equal([[user('[withheld]'), user('hello')]])
  })

  it('asks for one guard after the other', async () => {
    const both = [
      { id: 'first', module: 'guard/input', config: { action: 'ask', patterns: ['a'] } },
      { id: 'second', module: 'guard/input', config: { action: 'block', patterns: ['b'], reply: 'No b.' } },
    ]
    agent = await makeGuarded(both, [saying('ok')])
    const { trail, pending } = await agent.run('ab')
    const answer = { callId: pending[0]?.callId ?? '', kind: 'approval', decision: 'approve' } as const
    expect((await agent.run(trail, { answers: [answer], pending })).text).to.equal('No b.')
    expect(agent.requests).to.deep.equal([])
  })

  it('lets a run continue that waits for something else', async () => {
    const call: LLMPart[] = [
      { type: 'tool_call', call: { id: 'w1', name: 'weather', arguments: {} } },
      { type: 'finish', reason: 'tool_calls' },
    ]
    agent = await makeGuarded(guard({ action: 'ask', patterns: ['rain'] }), [call, saying('Dry.')])
    const clientTools = [{ name: 'weather', description: '', parameters: { type: 'object' } }]
    const held = await agent.run('rain?', { clientTools })
    const approve = { callId: held.pending[0]?.callId ?? '', kind: 'approval', decision: 'approve' } as const
    const waiting = await agent.run(held.trail, { clientTools, answers: [approve], pending: held.pending })
    expect(waiting.pending).to.have.deep.members([
      { callId: 'w1', runId: waiting.runId, kind: 'client_tool', name: 'weather', arguments: {} },
    ])
    const output = { callId: 'w1', kind: 'client_tool', result: { text: 'dry' } } as const
    const ended = await agent.run(waiting.trail, { clientTools, answers: [output], pending: waiting.pending })
    expect([ended.status, ended.text]).to.deep.equal(['completed', 'Dry.'])
  })

  it('judges by a model that sees earlier messages; only a clear no passes', async () => {
    agent = await makeGuarded(guard({ judge: 'No medical advice.' }), [saying('No.'), saying('Hi'), saying('Perhaps')])
    expect((await agent.run([user('I feel ill.'), said('Oh.'), user('hello')])).text).to.equal('Hi')
    const [judge] = agent.requests
    expect(judge?.messages[0]?.content).to.contain('No medical advice.')
    expect(judge?.messages[1]).to.deep.equal(user('{"earlier_messages":["I feel ill."],"text":"hello"}'))
    expect((await agent.run('which pill?')).incompleteReason).to.equal('content_filter')
  })

  it('rejects an agent whose guard has no rule, no model, or an invalid pattern', async () => {
    agent = await makeGuarded([], [saying('ok')])
    const failure = (config: object, modules: object[] = []) =>
      agent.host
        .register({
          id: 'x',
          modules: [{ id: 'echo', module: 'echo' }, ...modules, { ...guard(config)[0], scope: 'agent' }],
        })
        .then(String, (error: Error) => error.message)
    expect(await failure({})).to.contain('The guard has no rule. Set detect, patterns, schema or judge.')
    expect(await failure({ judge: 'x' })).to.contain('judge needs a module that provides LLM.')
    expect(await failure({ patterns: ['('] })).to.match(/patterns: Invalid regular expression/)
  })
})
