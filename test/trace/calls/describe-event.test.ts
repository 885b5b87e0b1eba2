import { expect } from 'chai'
import { errorOf, isAborted, kindOf, labelOf, usageOf } from '../../../src/trace/calls/describe-event.ts'
import { eventOf } from '../../support/events.ts'

const call = (method_name: string, ...args: unknown[]) =>
  eventOf({ event_type: 'call', call_id: 'a', method_name, arguments: { args } })

describe('the description of an event', () => {
  it('has a readable name', () => {
    expect(labelOf(call('executeTool', 'lookupOrder', { id: 42 }))).equal('lookupOrder(42)')
    expect(labelOf(call('executeTool', 'now', {}))).equal('now()')
    expect(labelOf(call('executeTool', 'find', { city: 'Lima\nPeru', tags: ['a', 'b'], much: 'x'.repeat(90) }))).equal(
      'find(Lima Peru, ["a","b"], xxxxxxxxxxxxxxxxxxxx…',
    )
    expect(labelOf(call('search', 'refunds', 3))).equal('search("refunds")')
    expect(labelOf(call('generate', { messages: [] }))).equal(null)
  })

  it('gets its kind from its protocol', () => {
    const within = { caller_id: 'loop', parent_call_id: 'a' }
    const kind = (facts: object) => kindOf(eventOf({ event_type: 'call', call_id: 'a', ...within, ...facts }))
    expect(kind({ protocol: 'LLM' })).equal('model')
    expect(kind({ protocol: 'ToolProvider' })).equal('tool')
    expect(kind({ protocol: 'Memory' })).equal('memory')
    expect(kind({ protocol: 'Response' })).equal('response')
    expect(kind({ protocol: 'Catalogue', method_name: 'search' })).equal('module')
    expect(kind({ protocol: null })).equal('module')
    const first = { agent_id: 'x', caller_id: 'agent:x', parent_call_id: null }
    expect(kind({ protocol: 'TextMessageHandler', ...first })).equal('agent')
    // A person called the model alone.
    expect(kind({ protocol: 'LLM', ...first })).equal('model')
  })

  it('distinguishes stopped from failed calls', () => {
    expect(isAborted("HostError: The run of agent 'a' was aborted.\n    at run")).equal(true)
    expect(isAborted("Error: no answer\n    at llm\nCaused by: HostError: The run of agent 'a' was aborted.")).equal(
      true,
    )
    expect(isAborted("Error: it says HostError: The run of agent 'a' was aborted.")).equal(false)
    expect(isAborted(null)).equal(false)
  })

  it('names an error with its causes', () => {
    expect(errorOf('Error: one\n    at a (b.ts:1:2)\nCaused by: TypeError: two\n    at c')).equal(
      'Error: one\nTypeError: two',
    )
    expect(errorOf(null)).equal(null)
  })

  it('shows the tokens of a model if they are counted', () => {
    const usage = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 }
    expect(
      usageOf([
        { type: 'text', text: 'a' },
        { type: 'usage', usage, model: 'gpt-4.1' },
      ]),
    ).deep.equal({
      model: 'gpt-4.1',
      input_tokens: 10,
      output_tokens: 2,
      cached_input_tokens: 4,
      reasoning_tokens: 0,
    })
    const odd = {
      inputTokens: -5,
      outputTokens: 'Infinity',
      cachedInputTokens: { toString: null },
      reasoningTokens: '7',
    }
    expect(usageOf([{ type: 'usage', usage: odd }])).deep.equal({
      model: null,
      input_tokens: 0,
      output_tokens: 0,
      cached_input_tokens: 0,
      reasoning_tokens: 0,
    })
    expect(usageOf([{ type: 'text', text: 'a' }])).equal(null)
    expect(usageOf('text')).equal(null)
  })
})
