import { getEventListeners } from 'node:events'
import type { Static } from 'agent-host'
import { expect } from 'chai'
import mock from '../../../modules/llm/mock.ts'
import { collect, describeLLM } from '../../suites/llm-suite.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

const make = (replies: Static<typeof mock.config>['replies']) => mock.create({}, { replies }, makeContext())
const ask = { messages: [says('x')] }

describe('llm/mock', () => {
  describeLLM(() => make(['one two three']))

  it('gives its replies in order, and starts over after the last', async () => {
    const llm = await make(['a', 'b'])
    const texts = []
    for (let turn = 0; turn < 3; turn++) texts.push((await collect(llm, ask))[0])
    expect(texts).to.deep.equal(['a', 'b', 'a'].map((text) => ({ type: 'text', text })))
  })

  it('scripts everything that a model can do', async () => {
    const reply = {
      reasoning: 'hm',
      text: 'abcd',
      chunks: 2,
      tool_calls: [{ name: 't', arguments: { n: 1 } }],
      usage: { input_tokens: 3, output_tokens: 4 },
    }
    expect(await collect(await make([reply]), ask)).to.deep.equal([
      { type: 'reasoning', text: 'hm', blockId: '0' },
      { type: 'text', text: 'ab' },
      { type: 'text', text: 'cd' },
      { type: 'tool_call', call: { id: 'call_1_0', name: 't', arguments: { n: 1 } } },
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('scripts vendor details: signed blocks, ids, the finish reason', async () => {
    const signed = { vendor: { signature: 's' } }
    const reply = {
      reasoning: [{ text: 'a', provider_metadata: signed }, { text: '' }],
      text: 'b',
      provider_metadata: { vendor: { item: 'i' } },
      tool_calls: [{ id: 'own', name: 't', arguments: {}, provider_metadata: signed }],
      usage: { input_tokens: 1, output_tokens: 2, cached_input_tokens: 3, reasoning_tokens: 4 },
      finish: 'length' as const,
    }
    expect(await collect(await make([reply]), ask)).to.deep.equal([
      { type: 'reasoning', text: 'a', blockId: '0', providerMetadata: signed },
      { type: 'reasoning', text: '', blockId: '1' },
      { type: 'text', text: 'b' },
      { type: 'text', text: '', providerMetadata: { vendor: { item: 'i' } } },
      { type: 'tool_call', call: { id: 'own', name: 't', arguments: {}, providerMetadata: signed } },
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 3, reasoningTokens: 4 } },
      { type: 'finish', reason: 'length' },
    ])
  })

  it('fails with the scripted error, and when the run is aborted during a delay', async () => {
    const failure = await collect(await make([{ text: 'a', error: 'broken' }]), ask).catch(
      (error: Error) => error.message,
    )
    expect(failure).to.equal('broken')
    const run = makeRun()
    const waiting = collect(await make([{ text: 'a', delay_ms: 10_000 }]), ask, run).catch((error: Error) => error)
    setTimeout(() => run.abort(new Error('enough')), 20)
    expect(await waiting).to.have.property('message', 'enough')
  })

  it('fails at once when the run is aborted between two pieces', async () => {
    const run = makeRun()
    const llm = await make([{ text: 'ab', chunks: 2, delay_ms: 1000 }])
    const parts = llm.generate(ask, run)[Symbol.asyncIterator]()
    await parts.next()
    run.abort(new Error('enough'))
    const abortedMs = performance.now()
    expect(await parts.next().catch((error: Error) => error)).to.have.property('message', 'enough')
    expect(performance.now() - abortedMs).to.be.below(900)
  })

  it('waits with one listener of the run for all pieces, and leaves none behind', async () => {
    const run = makeRun()
    let added = 0
    const { signal } = run
    const add = signal.addEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      added++
      add(...args)
    }
    await collect(await make([{ text: 'abcdefgh', chunks: 8, delay_ms: 1 }]), ask, run)
    expect(added).to.equal(1)
    expect(getEventListeners(signal, 'abort')).to.deep.equal([])
  })

  it('splits no character in two', async () => {
    expect(await collect(await make([{ text: 'a😀b', chunks: 2 }]), ask)).to.deep.equal([
      { type: 'text', text: 'a😀' },
      { type: 'text', text: 'b' },
      { type: 'finish', reason: 'stop' },
    ])
  })
})
