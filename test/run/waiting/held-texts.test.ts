import type { Message, PendingAnswer } from 'agent-host'
import { expect } from 'chai'
import {
  hasHeldCall,
  makeHeldCall,
  partHeldTexts,
  toHeldPending,
  toHeldResult,
} from '../../../src/run/waiting/held-texts.ts'
import { digestOf } from '../../../src/run/waiting/pending-call.ts'

const HELD = { by: 'rail', reason: 'May this go out?', reply: 'I cannot say that.' }
const user = (content: string): Message => ({ role: 'user', content })
const says = (content: string): Message => ({ role: 'assistant', content })

/** A guard's call in a conversation, and its result. */
function held(text: string, result: string): [Message, Message] {
  const call = makeHeldCall('send_answer', text, HELD)
  return [
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', content: result, toolCallId: call.id },
  ]
}

const approval = (more: object) => ({ callId: 'c', kind: 'approval', ...more }) as Parameters<typeof toHeldResult>[0]

describe('texts that a guard holds', () => {
  it('wait for an approval, bound to text and version, whose edit is a text', () => {
    const call = makeHeldCall('accept_message', 'Buy.', HELD)
    expect(call.id).to.match(/^call_[\da-f-]{36}$/)
    const digest = digestOf('accept_message', { text: 'Buy.' }, 'v1')
    const schema = {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    }
    const asked = {
      callId: call.id,
      kind: 'approval',
      name: 'accept_message',
      arguments: { text: 'Buy.' },
      schema,
      digest,
    }
    expect(toHeldPending(call, 'v1')).to.deep.equal({ ...asked, message: 'May this go out?' })
    const { held: _held, ...bare } = call
    expect(toHeldPending(bare, 'v1')).to.deep.equal({ ...asked, message: '' })
    expect(toHeldPending(call, 'v2').digest).not.to.equal(digest)
  })

  it('are parted from the conversation, with the decisions about them', () => {
    const approve = toHeldResult(approval({ decision: 'approve' }))
    const edit = toHeldResult(approval({ decision: 'edit', arguments: { text: 'Two.' } }))
    const reject = toHeldResult(approval({ decision: 'reject', reason: 'no' }))
    const call = { id: 'c9', name: 'pay', arguments: {} }
    const others: Message[] = [
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: '{"decision":"approve"}', toolCallId: 'c9' },
    ]
    const conversation = [
      user('one'),
      ...held('One.', approve),
      says('One.'),
      user('two'),
      ...held('2.', edit),
      user('three'),
      ...others,
      ...held('3.', reject),
    ]
    expect(conversation.map(hasHeldCall).filter(Boolean)).to.have.lengthOf(3)
    const of = (userIndex: number, text: string | undefined) => ({
      name: 'send_answer',
      by: 'rail',
      userIndex,
      reply: 'I cannot say that.',
      text,
    })
    expect(partHeldTexts(conversation)).to.deep.equal({
      messages: [user('one'), says('One.'), user('two'), user('three'), ...others],
      decisions: [of(0, 'One.'), of(1, 'Two.'), of(2, undefined)],
    })
  })

  it('are undecided by a result that is no decision', () => {
    const results = [
      'superseded',
      'null',
      '{}',
      '{"decision":"maybe"}',
      '{"decision":"edit"}',
      '{"decision":"edit","text":1}',
    ]
    for (const result of results) {
      const conversation = [user('one'), ...held('One.', result)]
      expect(partHeldTexts(conversation), result).to.deep.equal({ messages: [user('one')], decisions: [] })
    }
  })

  it('are decided by their own result alone', () => {
    const [call] = held('One.', '')
    const other: Message = { role: 'tool', content: '{"decision":"approve"}', toolCallId: 'another' }
    expect(partHeldTexts([call, other])).to.deep.equal({ messages: [other], decisions: [] })
    expect(partHeldTexts([])).to.deep.equal({ messages: [], decisions: [] })
    expect(
      hasHeldCall({ role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'pay', arguments: {} }] }),
    ).to.equal(false)
  })

  it('have a decision without more as their result', () => {
    const answer: PendingAnswer = { callId: 'c', kind: 'approval', decision: 'approve', by: 'ann', digest: 'd' }
    expect(toHeldResult(answer)).to.equal('{"decision":"approve"}')
    expect(toHeldResult(approval({ decision: 'edit' }))).to.equal('{"decision":"edit"}')
  })
})
