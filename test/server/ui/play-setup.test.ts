import { expect } from 'chai'
import { findDifferences } from '../../../ui/src/components/differences.ts'
import { setupOfCall } from '../../../ui/src/responses/setup.ts'

describe('the setup of a playground', () => {
  it('has system prompt, messages, tools and parameters of a model call', () => {
    const said = { toolCalls: [], toolCallId: '' }
    const setup = setupOfCall({
      model: 'shop/sales',
      runId: 'r',
      messages: [
        { ...said, role: 'system', content: 'Be kind.' },
        { ...said, role: 'user', content: 'one' },
        { ...said, role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'find', arguments: { id: 1 } }] },
        { ...said, role: 'tool', content: 'found', toolCallId: 'c' },
        { ...said, role: 'assistant', content: 'It is there.' },
        { ...said, role: 'user', content: 'two' },
        { ...said, role: 'assistant', content: 'later' },
      ],
      tools: [{ name: 'find' }],
      parameters: { temperature: 0.5, maxOutputTokens: 9, reasoningEffort: 'low', stop: ['x'] },
    })
    expect(setup).to.deep.equal({
      columns: [
        { model: 'shop/sales', temperature: 0.5, options: { max_output_tokens: 9, reasoning: { effort: 'low' } } },
      ],
      seed: {
        runId: 'r',
        system: 'Be kind.',
        items: [
          { type: 'message', role: 'user', content: 'one' },
          { type: 'function_call', call_id: 'c', name: 'find', arguments: '{"id":1}' },
          { type: 'function_call_output', call_id: 'c', output: 'found' },
          { type: 'message', role: 'assistant', content: 'It is there.' },
        ],
        tools: ['find'],
      },
    })
  })
})

describe('differences of words', () => {
  const mark = (one: string, other: string) => {
    const [words, others] = [one.split(' '), other.split(' ')]
    const marks = findDifferences(words, others)
    return [words, others].map((list, index) => list.filter((_, at) => marks[index]?.[at]).join(' '))
  }

  it('are those that the other text lacks at their place', () => {
    expect(mark('a b c d', 'a x c d e')).to.deep.equal(['b', 'x e'])
    expect(mark('a b', 'a b')).to.deep.equal(['', ''])
    expect(mark('a b c', 'c b a')).to.deep.equal(['a b', 'b a'])
    expect(mark('one', 'two three')).to.deep.equal(['one', 'two three'])
  })

  it('are not looked for in very long texts', () => {
    expect(findDifferences(Array(2001).fill('a'), ['b'])).to.deep.equal([Array(2001).fill(false), [false]])
  })
})
