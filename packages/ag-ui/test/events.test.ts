import { strict as assert } from 'node:assert'
import type { ServedAdapter } from 'agent-host/testing'
import { type Event, readEvents, say, send, serve, textOf } from './ag-ui-project.ts'

/** The events of an answer without ids that change, and without those that begin and end a run. */
function withoutIds(events: readonly Event[]): object[] {
  const [{ metadata } = {} as Event] = events
  const text = JSON.stringify(events.slice(2, -2)).replaceAll(metadata.runId, 'run')
  return JSON.parse(text)
}

describe('the events of a run', () => {
  let served: ServedAdapter
  before(async () => {
    served = await serve({ adapters: ['./adapter.ts#AgUiAdapter', 'ResponsesCompatApiAdapter'] })
  })
  after(() => served[Symbol.asyncDispose]())

  const run = (agent: string, text: string, input = {}) =>
    send(served, agent, { threadId: `${agent} ${text}`, ...say(text), ...input })

  it('begin and end it, under the ids of the client, with its usage', async () => {
    const { events, headers } = await run('tools', 'hello', { context: [{ description: 'Place', value: 'Lima' }] })
    const { runId } = events[0]?.metadata ?? {}
    assert.match(String(headers['content-type']), /^text\/event-stream/)
    assert.match(runId, /^resp_/)
    const ids = { threadId: 'tools hello', runId: 'r1' }
    assert.deepEqual(events, [
      { type: 'RUN_STARTED', ...ids, protocolVersion: '1.0', metadata: { runId } },
      { type: 'STEP_STARTED', stepName: 'tools' },
      { type: 'TEXT_MESSAGE_START', messageId: `${runId}-1`, role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}-1`, delta: '2 messages, Place: Lima' },
      { type: 'TEXT_MESSAGE_END', messageId: `${runId}-1` },
      { type: 'STEP_FINISHED', stepName: 'tools' },
      {
        type: 'RUN_FINISHED',
        ...ids,
        outcome: { type: 'success' },
        usage: [{ inputTokens: 10, outputTokens: 2, totalTokens: 12 }],
      },
    ])
  })

  it('tell the calls of tools in the message that they stand in, with their results', async () => {
    const { events } = await run('tools', 'own Lima broken Rome')
    const [first, second] = ['call_tools1_0', 'call_tools1_1']
    assert.deepEqual(withoutIds(events), [
      { type: 'TEXT_MESSAGE_START', messageId: 'run-1', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'run-1', delta: 'One moment.' },
      { type: 'TEXT_MESSAGE_END', messageId: 'run-1' },
      { type: 'TOOL_CALL_START', toolCallId: first, toolCallName: 'own', parentMessageId: 'run-1' },
      { type: 'TOOL_CALL_ARGS', toolCallId: first, delta: '{"city":"Lima"}' },
      { type: 'TOOL_CALL_END', toolCallId: first },
      { type: 'TOOL_CALL_START', toolCallId: second, toolCallName: 'broken', parentMessageId: 'run-1' },
      { type: 'TOOL_CALL_ARGS', toolCallId: second, delta: '{"city":"Rome"}' },
      { type: 'TOOL_CALL_END', toolCallId: second },
      { type: 'TOOL_CALL_RESULT', messageId: 'run-2', toolCallId: first, content: 'own Lima', role: 'tool' },
      {
        type: 'TOOL_CALL_RESULT',
        messageId: 'run-3',
        toolCallId: second,
        content: 'no luck',
        role: 'tool',
        metadata: { isError: true },
      },
      { type: 'TEXT_MESSAGE_START', messageId: 'run-4', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'run-4', delta: 'own: own Lima; broken: no luck' },
      { type: 'TEXT_MESSAGE_END', messageId: 'run-4' },
    ])
  })

  it('tell the thinking before the answer', async () => {
    const { events } = await run('thinker', 'why')
    assert.deepEqual(withoutIds(events), [
      { type: 'REASONING_START', messageId: 'run-1' },
      { type: 'REASONING_MESSAGE_START', messageId: 'run-1', role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'run-1', delta: 'Hm. ' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'run-1', delta: 'Well.' },
      { type: 'REASONING_MESSAGE_END', messageId: 'run-1' },
      { type: 'REASONING_END', messageId: 'run-1' },
      { type: 'TEXT_MESSAGE_START', messageId: 'run-2', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'run-2', delta: 'Because.' },
      { type: 'TEXT_MESSAGE_END', messageId: 'run-2' },
    ])
  })

  it('tell the state that begins as the client has it, whole and then by its changes, progress, and events of a module', async () => {
    const { events } = await run('counter', 'hi', { state: { count: 4 } })
    assert.deepEqual(withoutIds(events).slice(0, 4), [
      { type: 'STATE_SNAPSHOT', snapshot: { count: 5, seen: { hi: true }, old: 1 } },
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'run-progress', activityType: 'PROGRESS', content: { message: 'half' } },
      { type: 'CUSTOM', name: 'counted', value: { count: 4 } },
      {
        type: 'STATE_DELTA',
        delta: [
          { op: 'remove', path: '/old' },
          { op: 'replace', path: '/count', value: 6 },
          { op: 'add', path: '/seen/a~1b', value: 1 },
        ],
      },
    ])
    assert.equal(textOf({ events }), '4')
    assert.equal(textOf(await run('counter', 'hello')), '0')
    // The protocol reads null as no state.
    assert.equal(textOf(await run('counter', 'hello', { threadId: 'null', state: null })), '0')
  })

  it('tell a run of another agent as a subagent', async () => {
    const { events } = await run('boss', 'tools own Lima')
    const told = events.filter(({ type }) => type.startsWith('SUBAGENT') || type === 'TOOL_CALL_RESULT')
    const { messageId: _, ...result } = told.at(-1) ?? { type: '' }
    assert.deepEqual(
      [...told.slice(0, -1), result],
      [
        { type: 'SUBAGENT_STARTED', subagentRunId: 'call_boss1_0', name: 'tools', parentToolCallId: 'call_boss1_0' },
        { type: 'SUBAGENT_FINISHED', subagentRunId: 'call_boss1_0' },
        { type: 'TOOL_CALL_RESULT', toolCallId: 'call_boss1_0', content: 'One moment.\n\nown: own Lima', role: 'tool' },
      ],
    )
  })

  it('tell pictures, and the agent gets those that it takes', async () => {
    const source = { type: 'data', value: 'AQID', mimeType: 'image/png' }
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', source },
      { type: 'image', source: { type: 'url', value: 'https://example.com/a.gif' } },
      { type: 'audio', source: { ...source, mimeType: 'audio/wav' } },
      { type: 'document', source: { type: 'file', value: 'file_1' } },
      { type: 'holo\ngram' },
      { type: 'image', source: { ...source, value: '?' } },
    ]
    const { events, headers } = await run('sight', 'x', { messages: [{ id: 'u', role: 'user', content }] })
    assert.equal(textOf({ events }), 'see image/png 3,image/gif https://example.com/a.gif')
    assert.equal(headers['x-ignored'], 'audio/wav, document, holo_gram, image')
    const value = { type: 'image', source: { type: 'data', value: 'AQI=', mimeType: 'image/png' } }
    assert.deepEqual(
      events.find(({ type }) => type === 'CUSTOM'),
      { type: 'CUSTOM', name: 'attachment', value },
    )
  })

  it('end with an error when the agent fails, without its reason', async () => {
    const { events } = await run('failing', 'x')
    assert.deepEqual(events.at(-1), { type: 'RUN_ERROR', message: 'Agent execution failed', code: 'AGENT_FAILED' })
  })

  it('end as cancelled when somebody cancels the run', async () => {
    const url = await served.server.listen()
    const answer = await fetch(`${url}/ag-ui/slow`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: 'slow', runId: 'r1', ...say('wait') }),
    })
    let body = ''
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      body += piece
      const id = /"metadata":\{"runId":"(resp_[^"]+)"/.exec(body)?.[1]
      const isBegun = body.includes('begun') && !body.includes('STEP_FINISHED')
      if (isBegun) await fetch(`${url}/compat/responses/${id}`, { method: 'DELETE' })
    }
    const events = readEvents(body)
    const ids = { threadId: 'slow', runId: 'r1' }
    assert.deepEqual(events.at(-1), { type: 'RUN_FINISHED', ...ids, outcome: { type: 'cancelled' } })
    assert.ok(events.some(({ type }) => type === 'TEXT_MESSAGE_END'))
  })
})
