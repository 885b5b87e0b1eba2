import { strict as assert } from 'node:assert'
import { setTimeout } from 'node:timers/promises'
import type { ServedAdapter } from 'agent-host/testing'
import { FILES, type Sent, say, send, serve, textOf } from './ag-ui-project.ts'

/**
 * Approved, `frail` fails, `artist` answers with a picture and an event of its own, and `twice` pays once more. Nobody approves `hasty` in
 * time.
 */
const TOLD_LATER = {
  'agents/hasty.yml': `${FILES['agents/tools.yml']?.replace('id: tools', 'id: hasty')}\napproval_ttl: 1`,
  ...answersApproval('frail', `throw new Error('no luck')`),
  ...answersApproval(
    'artist',
    `await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2]) })
    await response.respondEvent('drawn', { count: 1 })`,
  ),
  ...answersApproval(
    'twice',
    `if (messages.filter(({ role }) => role === 'tool').length < 2)
      yield { type: 'tool_call', call: { id: 'call_2', name: 'pay', arguments: { city: 'Rome' } } }`,
  ),
}

function answersApproval(id: string, answer: string): object {
  return {
    [`agents/${id}.yml`]: `id: ${id}
modules: [{ id: own, module: own }, { id: llm, module: ${id} }, { id: loop, module: orchestrator/tool-loop }]`,
    [`modules/${id}.ts`]: `import { defineModule, LLM, Response } from 'agent-host'
export default defineModule({ name: '${id}', provides: [LLM], uses: { response: Response }, create: ({ response }) => ({
  async *generate({ messages }) {
    const isFirst = messages.at(-1).role === 'user'
    if (isFirst) yield { type: 'tool_call', call: { id: 'call_1', name: 'pay', arguments: { city: 'Lima' } } }
    else { yield { type: 'text', text: 'Paid.' }
    ${answer} }
    yield { type: 'finish', reason: isFirst ? 'tool_calls' : 'stop' }
  } }) })`,
  }
}

const interruptsOf = ({ events }: Sent) => events.at(-1)?.outcome.interrupts ?? []

describe('an interrupt', () => {
  let served: ServedAdapter
  beforeEach(async () => {
    served = await serve({ trustedOrigins: ['https://shop.example'] }, TOLD_LATER)
  })
  afterEach(() => served[Symbol.asyncDispose]())

  const begin = (text: string, agent = 'tools') => send(served, agent, say(text))
  const resume = (before: Sent, answer: object, { agent = 'tools', headers = {} } = {}) => {
    const entries = interruptsOf(before).map(({ id }: { id: string }) => ({ interruptId: id, ...answer }))
    return send(served, agent, { ...say('x'), resume: entries }, headers)
  }
  const approve = { status: 'resolved', payload: { approved: true } }

  it('is an approval, of the call that was told before', async () => {
    const before = await begin('pay Lima')
    const [{ id, ...interrupt }] = interruptsOf(before)
    assert.match(id, /^mcpr_/)
    assert.deepEqual(interrupt, {
      reason: 'tool_call',
      message: 'May pay be called?',
      toolCallId: 'call_tools1_0',
      responseSchema: {
        type: 'object',
        properties: { approved: { type: 'boolean' }, editedArgs: { type: 'object' }, reason: { type: 'string' } },
        required: ['approved'],
      },
      metadata: { name: 'pay', arguments: { city: 'Lima' } },
    })
    assert.ok(before.events.some(({ type, toolCallId }) => type === 'TOOL_CALL_END' && toolCallId === 'call_tools1_0'))
    const after = await resume(before, approve)
    assert.equal(textOf(after), 'pay: pay Lima')
    assert.deepEqual(
      after.events.filter(({ type }) => type.startsWith('TOOL_CALL')).map(({ type }) => type),
      ['TOOL_CALL_RESULT'],
    )
  })

  it('is answered with other arguments, a refusal, or nothing at all', async () => {
    const edited = { status: 'resolved', payload: { approved: true, editedArgs: { city: 'Rome' } } }
    assert.match(textOf(await resume(await begin('pay Lima'), edited)), /pay Rome$/)
    const refused = { status: 'resolved', payload: { approved: false, reason: 'too much' } }
    assert.match(textOf(await resume(await begin('own Lima pay Lima'), refused)), /too much/)
    assert.match(textOf(await resume(await begin('pay Lima'), { status: 'cancelled' })), /^pay: /)
  })

  it('takes nothing but a clear answer, and stays open without one', async () => {
    const before = await begin('pay Lima')
    for (const payload of [undefined, 'yes', {}, { approved: 'true' }, { approved: true, editedArgs: 1 }, null])
      assert.equal((await resume(before, { status: 'resolved', payload })).status, 400)
    const odd = await resume(before, { status: 'resolved', payload: { approved: false, reason: 5 } })
    assert.match(odd.body, /resume: the reason for 'mcpr_.*' must be a text/)
    const message = await send(served, 'tools', say('pay Lima', 'never mind'))
    assert.match(message.body, /resume: the thread waits for an answer to 'mcpr_/)
    assert.equal(textOf(await resume(before, approve)), 'pay: pay Lima')
  })

  it('that has two entries is answered by neither, in whichever order they stand', async () => {
    const cancel = { status: 'cancelled' }
    for (const [text, answer] of [
      ['pay Lima', approve],
      ['name x', { status: 'resolved', payload: 'Ada' }],
    ] as const) {
      const before = await begin(text)
      const [{ id: interruptId }] = interruptsOf(before)
      for (const both of [
        [answer, cancel],
        [cancel, answer],
      ]) {
        const entries = both.map((each) => ({ interruptId, ...each }))
        const refused = await send(served, 'tools', { ...say('x'), resume: entries })
        assert.equal(refused.status, 400)
        assert.match(refused.body, new RegExp(`resume: '${interruptId}' is answered twice`))
      }
      assert.match(textOf(await resume(before, answer)), /pay Lima$|Ada$/)
    }
  })

  it('is a question, with the schema of its answer', async () => {
    const before = await begin('name x')
    const [{ id: _, ...interrupt }] = interruptsOf(before)
    assert.deepEqual(interrupt, {
      reason: 'input_required',
      message: 'What is your name?',
      toolCallId: 'call_tools1_0',
      responseSchema: { type: 'string' },
      metadata: { name: 'name' },
    })
    assert.equal((await resume(before, { status: 'resolved', payload: 7 })).status, 400)
    assert.equal(textOf(await resume(before, { status: 'resolved', payload: 'Ada' })), 'name: Your name is Ada')
  })

  it('of a question that is abandoned ends the run as cancelled, and the thread goes on', async () => {
    const after = await resume(await begin('name x'), { status: 'cancelled' })
    assert.deepEqual(after.events.at(-1)?.outcome, { type: 'cancelled' })
    assert.match(textOf(await send(served, 'tools', say('name x', 'hello'))), /messages, no context$/)
  })

  it('without an answer is told again', async () => {
    const before = await begin('pay Lima pay Rome')
    const [first, second] = interruptsOf(before)
    const half = await send(served, 'tools', { ...say('x'), resume: [{ interruptId: first.id, ...approve }] })
    const [left, ...others] = interruptsOf(half)
    assert.deepEqual([left.toolCallId, others], [second.toolCallId, []])
    const toolCalls = ['call_tools1_0', 'call_tools1_1'].map((id) => ({ id, type: 'function', function: {} }))
    const messages = [{ id: 'a', role: 'assistant', toolCalls }]
    const entry = { interruptId: left.id, ...approve }
    const after = await send(served, 'tools', { messages, resume: [entry] })
    assert.equal(textOf(after), 'pay: pay Lima; pay: pay Rome')
    // The client has the calls already: said again, their arguments would stand there twice.
    const told = after.events.filter(({ type }) => type.startsWith('TOOL_CALL')).map(({ type }) => type)
    assert.deepEqual(told, ['TOOL_CALL_RESULT', 'TOOL_CALL_RESULT'])
  })

  it('of a called agent suspends the subagent, which goes on under its id', async () => {
    const before = await begin('tools pay Lima', 'boss')
    const [{ id, subagentRunId, toolCallId }] = interruptsOf(before)
    assert.deepEqual([subagentRunId, toolCallId], ['call_boss1_0', 'call_boss1_0'])
    assert.deepEqual(before.events.find(({ type }) => type === 'SUBAGENT_FINISHED')?.outcome, {
      type: 'suspended',
      interruptIds: [id],
    })
    const after = await resume(before, approve, { agent: 'boss' })
    const told = after.events.filter(({ type }) => type.startsWith('SUBAGENT'))
    assert.deepEqual(
      told.map(({ type, subagentRunId }) => `${type} ${subagentRunId}`),
      ['SUBAGENT_STARTED call_boss1_0', 'SUBAGENT_FINISHED call_boss1_0'],
    )
  })

  it('is decided by no page of another site, unless its origin is trusted', async () => {
    const before = await begin('pay Lima')
    const foreign = await resume(before, approve, { headers: { origin: 'https://evil.example' } })
    assert.deepEqual([foreign.status, JSON.parse(foreign.body).code], [403, 'ORIGIN_FORBIDDEN'])
    const trusted = await resume(before, approve, { headers: { origin: 'https://shop.example' } })
    assert.equal(textOf(trusted), 'pay: pay Lima')
  })

  it('that another has decided is told once: the client reads what came of it', async () => {
    const before = await begin('pay Lima')
    const after = await resume(before, approve)
    const again = await resume(before, approve)
    assert.equal(textOf(again), textOf(after))
    assert.deepEqual(again.events.at(-1)?.outcome, { type: 'success' })
    const messages = [
      {
        id: `${again.events[0]?.metadata?.runId ?? after.events[0]?.metadata.runId}-2`,
        role: 'assistant',
        content: 'x',
      },
    ]
    const [{ id: interruptId }] = interruptsOf(before)
    const seen = await send(served, 'tools', { messages, resume: [{ interruptId, ...approve }] })
    assert.equal(textOf(seen), '')
  })

  it('that another has decided is told with all that came of it, also where that waited once more', async () => {
    const before = await begin('pay Lima', 'twice')
    const first = await resume(before, approve, { agent: 'twice' })
    const second = await resume(first, approve, { agent: 'twice' })
    const told = ({ events }: Sent) =>
      events.map(({ type, toolCallId, delta }) => `${type} ${toolCallId ?? delta ?? ''}`).filter(isTold)
    const isTold = (text: string) => /^(TOOL_CALL_(START|RESULT)|TEXT_MESSAGE_CONTENT)/.test(text)
    // This client sends no calls, so they are said again.
    const all = ['TOOL_CALL_START call_1', ...told(first), ...told(second)]
    assert.deepEqual(told(await resume(before, approve, { agent: 'twice' })), all)
    const rest = ['TOOL_CALL_START call_2', ...told(second)]
    assert.deepEqual(told(await resume(first, approve, { agent: 'twice' })), rest, 'what came after the first')
  })

  it('whose run was cancelled meanwhile is told as cancelled, also to a client that has seen it', async () => {
    const before = await begin('name x')
    await resume(before, { status: 'cancelled' })
    const [{ id: interruptId }] = interruptsOf(before)
    const messages = [{ id: `${before.events[0]?.metadata.runId}-1`, role: 'assistant', content: 'x' }]
    for (const input of [say('x'), { messages }]) {
      const again = await send(served, 'tools', { ...input, resume: [{ interruptId, status: 'cancelled' }] })
      assert.deepEqual(again.events.at(-1)?.outcome, { type: 'cancelled' })
    }
  })

  it('whose run has failed is told as an error, also to a client that has seen a part', async () => {
    const before = await begin('pay Lima', 'frail')
    const after = await resume(before, approve, { agent: 'frail' })
    const failed = { type: 'RUN_ERROR', message: 'Agent execution failed', code: 'AGENT_FAILED' }
    assert.deepEqual(after.events.at(-1), failed)
    const [{ id: interruptId }] = interruptsOf(before)
    const messages = [{ id: `${after.events[0]?.metadata.runId}-1`, role: 'assistant', content: 'x' }]
    for (const input of [say('x'), { messages }]) {
      const again = await send(served, 'frail', { ...input, resume: [{ interruptId, ...approve }] })
      assert.deepEqual(again.events.at(-1), failed)
    }
  })

  it('that has expired is told as an error', async () => {
    const before = await begin('pay Lima', 'hasty')
    // Refused as no answer, for as long as it is open.
    const ask = () => resume(before, { status: 'resolved' }, { agent: 'hasty' })
    let after = await ask()
    while (after.status === 400) {
      await setTimeout(50)
      after = await ask()
    }
    const late = { type: 'RUN_ERROR', message: 'The approval has expired', code: 'APPROVAL_DECIDED' }
    assert.deepEqual(after.events.at(-1), late)
  })

  it('that another has decided is told with the pictures and the events of modules', async () => {
    const before = await begin('pay Lima', 'artist')
    const told = ({ events }: Sent) => events.filter(({ type }) => type === 'CUSTOM')
    const after = told(await resume(before, approve, { agent: 'artist' }))
    assert.deepEqual(
      after.map(({ name }) => name),
      ['attachment', 'drawn'],
    )
    assert.deepEqual(told(await resume(before, approve, { agent: 'artist' })), after)
  })
})
