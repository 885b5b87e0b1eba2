import type { Message, ToolCall } from 'agent-host'
import { expect } from 'chai'
import { withWholeCalls } from '../../../src/durable/conversations/whole-calls.ts'

const call = (n: number): ToolCall => ({ id: 'call_0', name: 'look', arguments: { n } })
const asks = (...toolCalls: ToolCall[]): Message => ({ role: 'assistant', content: '', toolCalls })
const result = (content: string): Message => ({ role: 'tool', content, toolCallId: 'call_0' })

describe('calls that share an id, in the rest of a conversation', () => {
  it('keep their own results: one whose call is gone goes, too', () => {
    const rest = [result('zero'), asks(call(1)), result('one'), asks(call(2))]
    expect(withWholeCalls(rest, [])).to.deep.equal([asks(call(1)), result('one')])
    expect(withWholeCalls(rest, ['call_0'])).to.deep.equal([asks(call(1)), result('one'), asks(call(2))])
  })
})
