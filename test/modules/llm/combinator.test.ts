import type { LLM, LLMPart, Static } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import combinator from '../../../modules/llm/combinator.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { fakeLLM, saying } from '../../support/fake-llm.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

const asks = { messages: [says('hi')] }
const used = (inputTokens: number): LLMPart => ({ type: 'usage', usage: { inputTokens, outputTokens: 1 } })

function combine(llms: readonly LLM[], config: Partial<Static<typeof combinator.config>> = {}) {
  const context = makeContext()
  const parsed = Value.Parse(combinator.config, Value.Default(combinator.config, config))
  return { llm: combinator.create({ llms }, parsed, context) as LLM, lines: context.lines }
}

describe('llm/combinator', () => {
  describeLLM(() => combine([fakeLLM(saying('one')), fakeLLM(saying('two')), fakeLLM(saying('one', ' two'))]).llm)

  it('has the last model read the other answers, and returns its answer', async () => {
    const [first, second] = [fakeLLM([used(3), ...saying('A', '.')]), fakeLLM([used(4), ...saying('B.')])]
    const judge = fakeLLM([used(5), ...saying('A', ' and B.')])
    const { llm } = combine([first, second, judge], { judge_prompt: 'Choose.', headings: ['Fast'] })
    const schema = { responseSchema: { type: 'object' } }
    expect(await collect(llm, { ...asks, ...schema })).to.deep.equal([
      used(5),
      { type: 'text', text: 'A' },
      { type: 'text', text: ' and B.' },
      { type: 'usage', usage: { inputTokens: 7, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 } },
      { type: 'finish', reason: 'stop' },
    ])
    expect(first.requests).to.deep.equal([asks])
    expect(judge.requests).to.deep.equal([
      { messages: [says('hi'), says('## Fast\n\nA.\n\n## Answer 2\n\nB.\n\n---\n\nChoose.')], ...schema },
    ])
  })

  it('returns all answers under headings, in the order of the models', async () => {
    let release = () => {}
    const late = new Promise<void>((resolve) => {
      release = resolve
    })
    const { llm } = combine([fakeLLM([late, ...saying('A.')]), fakeLLM(saying('B.'))], { merge: 'concatenate' })
    setTimeout(() => release(), 20)
    const parts = await collect(llm, asks)
    expect(textOf(parts)).to.equal('## Answer 1\n\nA.\n\n## Answer 2\n\nB.')
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('gives tools only to the judge; the others see its calls as text', async () => {
    const [first, judge] = [fakeLLM(saying('A.')), fakeLLM(saying('B.'))]
    const tools = [{ name: 't', description: 'does', parameters: { type: 'object' } }]
    const messages = [
      says('hi'),
      { role: 'assistant' as const, content: 'Well.', toolCalls: [{ id: 'c1', name: 't', arguments: { n: 1 } }] },
      { role: 'tool' as const, content: 'done', toolCallId: 'c1' },
    ]
    await collect(combine([first, judge]).llm, { messages, tools, temperature: 0 })
    expect(first.requests).to.deep.equal([
      {
        messages: [says('hi'), { role: 'assistant', content: 'Well.\n(c1: t {"n":1})' }, says('(result of c1: done)')],
        temperature: 0,
      },
    ])
    expect(judge.requests[0]?.tools).to.equal(tools)
    expect(judge.requests[0]?.messages.slice(0, 3)).to.deep.equal(messages)
  })

  it('continues with partial answers, and lists every failure if there are none', async () => {
    const down = fakeLLM([new Error('out of credit')])
    const { llm, lines } = combine([down, fakeLLM(saying('B.'))], { merge: 'concatenate' })
    expect(textOf(await collect(llm, asks))).to.equal('## Answer 2\n\nB.')
    expect(lines).to.deep.equal(['warn model 1 of 2 failed: out of credit'])
    expect(await failure(collect(combine([down, fakeLLM(saying(' '))], { merge: 'concatenate' }).llm, asks))).to.equal(
      'No model answered; 2 were asked:\n1. out of credit\n2. It said nothing.',
    )
  })

  it('ends with the run, even if a model ignores its signal', async () => {
    const silent = fakeLLM([new Promise(() => {})])
    const run = makeRun()
    const asked = failure(collect(combine([silent, fakeLLM(saying('B.'))]).llm, asks, run))
    run.abort(new Error('enough'))
    expect(await asked).to.equal('enough')
  })

  it('rejects unsupported requests and configs', async () => {
    expect(() => combine([fakeLLM(saying('A.'))])).to.throw(
      "Module 'module' (llm/combinator) needs at least two models: the last one judges the others.",
    )
    const { llm } = combine([fakeLLM(saying('A.'))], { merge: 'concatenate' })
    expect(await failure(collect(llm, { ...asks, responseSchema: { type: 'object' } }))).to.equal(
      "Module 'module' (llm/combinator): only a judge can give an answer of a schema.",
    )
  })
})
