import { AnswerParts, type LLMPart, sumUsage } from 'agent-host'
import { expect } from 'chai'

describe('AnswerParts', () => {
  it('joins text and blocks of reasoning, each with what its vendor wants back', () => {
    const parts: LLMPart[] = [
      { type: 'reasoning', text: 'I ', blockId: 'a' },
      { type: 'reasoning', text: 'think.', blockId: 'a', providerMetadata: { v: { signature: 1 } } },
      { type: 'reasoning', text: 'Then', blockId: 'b' },
      { type: 'text', text: 'No' },
      { type: 'reasoning', text: 'again', blockId: 'b' },
      { type: 'text', text: 'on.', providerMetadata: { v: { id: 2 } } },
      { type: 'tool_call', call: { id: 'c', name: 'look_up', arguments: {} } },
      { type: 'reasoning', text: 'without' },
      { type: 'reasoning', text: ' id' },
      { type: 'finish', reason: 'stop' },
    ]
    const collected = new AnswerParts()
    for (const part of parts) collected.take(part)
    expect(collected.answer).deep.equal({
      text: 'Noon.',
      reasoning: [
        { text: 'I think.', providerMetadata: { v: { signature: 1 } } },
        { text: 'Then' },
        { text: 'again' },
        { text: 'without id' },
      ],
      providerMetadata: { v: { id: 2 } },
    })
  })
})

describe('sumUsage', () => {
  it('adds counts, and leaves out what is no positive number, or more than can be counted', () => {
    const usages = [
      { inputTokens: 2, outputTokens: 1.6 },
      { inputTokens: Number.NaN },
      { inputTokens: Number.MAX_VALUE, outputTokens: Number.POSITIVE_INFINITY },
      { inputTokens: 3, reasoningTokens: -1 },
    ]
    expect(sumUsage(usages)).deep.equal({ inputTokens: 5, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 })
  })
})
