import { expect } from 'chai'
import { readTrail } from '../../../src/durable/runs/read-trail.ts'
import type { Step } from '../../../src/durable/runs/steps.ts'
import type { PendingCall } from '../../../src/run/waiting/pending-call.ts'

const call = (id: string, index?: number): Step => {
  const answer = index === undefined ? undefined : { index }
  return { hidden: { call: { id, name: 'pay', arguments: {}, moduleId: 'tools', answer } } }
}
const result = (callId: string, more: object = {}): Step => {
  return { hidden: { result: { callId, text: 'paid', isError: false, ...more } } }
}
const open = (callId: string, kind: PendingCall['kind'], more: object = {}): PendingCall => {
  return { callId, kind, name: 'pay', arguments: {}, ...more }
}
const calls = (content: string, ...ids: string[]) => {
  return { role: 'assistant', content, toolCalls: ids.map((id) => ({ id, name: 'pay', arguments: {} })) }
}
const PAID = { role: 'tool', content: 'paid' }
const UNKNOWN = {
  role: 'tool',
  content: "Outcome unknown: the run ended during the call of 'pay'. It may have been carried out.",
  isError: true,
}

describe('the trail of a run that was broken off', () => {
  it('has each text once, at its place, and what was attached last', () => {
    const steps = [
      'a ',
      call('c1', 0),
      'b ',
      result('c1'),
      call('c2', 1),
      { attachment: { mediaType: 'a/b', base64: 'AQ==' } },
      'c',
    ]
    expect(readTrail(steps as Step[])).to.deep.equal([
      calls('a ', 'c1'),
      { ...PAID, toolCallId: 'c1' },
      calls('b ', 'c2'),
      { ...UNKNOWN, toolCallId: 'c2' },
      { role: 'assistant', content: 'c', attachments: [{ mediaType: 'a/b', data: new Uint8Array([1]) }] },
    ])
  })

  it('has attachments of results', () => {
    const attachments = [{ mediaType: 'a/b', base64: 'AQ==' }]
    expect(readTrail([call('c1', 0), result('c1', { attachments })]).at(-1)).to.deep.equal({
      ...{ ...PAID, toolCallId: 'c1' },
      attachments: [{ mediaType: 'a/b', data: new Uint8Array([1]) }],
    })
  })

  it('leaves out a call that waits for approval, but not one whose tool calls what waits', () => {
    const nested = { pending: open('c2', 'approval', { name: 'wire' }) }
    const steps = [call('c1', 0), call('c2', 0), { pending: open('c1', 'approval') }, nested]
    expect(readTrail(steps)).to.deep.equal([calls('', 'c2'), { ...UNKNOWN, toolCallId: 'c2' }])
  })

  it('answers each open call of the run before: carried out, begun, given by the client or not executed', () => {
    const before = [
      open('r1', 'approval'),
      open('r2', 'approval'),
      open('r3', 'client_tool'),
      open('n1', 'question', { within: 'r4' }),
    ]
    expect(readTrail([result('r3'), call('r1'), result('r1'), call('r2')], before)).to.deep.equal([
      { ...PAID, toolCallId: 'r1' },
      { ...UNKNOWN, toolCallId: 'r2' },
      { ...PAID, toolCallId: 'r3' },
      {
        ...{ role: 'tool', toolCallId: 'r4', isError: true },
        content: "The call of 'pay' was not executed: the run ended before it.",
      },
    ])
  })

  it('is that of the last attempt', () => {
    expect(readTrail(['a', call('c1', 0), { restart: 2 }, 'b'])).to.deep.equal([{ role: 'assistant', content: 'b' }])
  })
})
