import { setTimeout } from 'node:timers/promises'
import { AgentHost, type LLM } from 'agent-host'
import { expect } from 'chai'
import fallback from '../../../modules/llm/fallback.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { fakeLLM, saying } from '../../support/fake-llm.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'
import { makeProject } from '../../support/temp-project.ts'

const asks = { messages: [says('hi')] }
const never = new Promise(() => {})

function chain(llms: readonly LLM[], timeout = 30) {
  const context = makeContext()
  return { llm: fallback.create({ llms }, { timeout }, context) as LLM, lines: context.lines }
}

describe('llm/fallback', () => {
  describeLLM(() => chain([fakeLLM([new Error('down')]), fakeLLM(saying('one', ' two'))]).llm)

  it('calls only the first model while it answers', async () => {
    const second = fakeLLM(saying('second'))
    const { llm, lines } = chain([fakeLLM(saying('first')), second])
    expect(textOf(await collect(llm, asks))).to.equal('first')
    expect(second.requests).to.deep.equal([])
    expect(lines).to.deep.equal([])
  })

  it('sends the same request to the next model when one fails before its first part, and logs why', async () => {
    const second = fakeLLM(saying('second'))
    const { llm, lines } = chain([fakeLLM([new Error('out of credit')]), second])
    expect(textOf(await collect(llm, asks))).to.equal('second')
    expect(second.requests).to.deep.equal([asks])
    expect(lines).to.deep.equal(['warn model 1 of 2 failed: out of credit'])
  })

  it('aborts a silent model and calls the next one', async () => {
    const silent = fakeLLM([never])
    const { llm, lines } = chain([silent, fakeLLM(saying('second'))], 0.05)
    const run = makeRun()
    expect(textOf(await collect(llm, asks, run))).to.equal('second')
    expect(silent.runs[0]?.signal.aborted).to.equal(true)
    expect(silent.runs[0]).to.include({ id: run.id, agentId: run.agentId })
    expect(run.signal.aborted).to.equal(false)
    expect(lines).to.deep.equal(['warn model 1 of 2 failed: It said nothing for 0.05 s.'])
  })

  it('lets a model that has started take its time', async () => {
    const [first, ...rest] = saying('one', ' two')
    const slow = fakeLLM([first as never, setTimeout(120), ...rest])
    expect(textOf(await collect(chain([slow, fakeLLM(saying('second'))], 0.05).llm, asks))).to.equal('one two')
  })

  it('calls no other model after the first part was sent', async () => {
    const second = fakeLLM(saying('second'))
    const { llm } = chain([fakeLLM([{ type: 'reasoning', text: 'hm' }, new Error('broke off')]), second])
    expect(await failure(collect(llm, asks))).to.equal('broke off')
    expect(second.requests).to.deep.equal([])
  })

  it('lists every failure if all fail', async () => {
    const { llm } = chain([fakeLLM([new Error('out of credit')]), fakeLLM([]), fakeLLM([never])], 0.05)
    expect(await failure(collect(llm, asks))).to.equal(
      'No model answered; 3 were asked:\n1. out of credit\n2. It said nothing at all.\n3. It said nothing for 0.05 s.',
    )
  })

  it('calls no other model when the run is aborted', async () => {
    const run = makeRun()
    const second = fakeLLM(saying('second'))
    const asked = failure(collect(chain([fakeLLM([never]), second]).llm, asks, run))
    run.abort(new Error('enough'))
    expect(await asked).to.equal('enough')
    expect(second.requests).to.deep.equal([])
  })

  it('fails to load without a model', () => {
    expect(() => chain([])).to.throw("Module 'module' (llm/fallback) has no model to ask.")
  })

  it('works between an orchestrator and models in an agent', async () => {
    const { dir } = await makeProject({})
    const host = new AgentHost({ projectDir: dir, environment: {} })
    try {
      host.onEvent(() => {})
      await host.register(`id: careful
modules:
  - { id: first, module: llm/mock, config: { replies: [{ error: out of order }] } }
  - { id: second, module: llm/mock, config: { replies: [hello] } }
  - { id: llm, module: llm/fallback }
  - { id: orchestrator, module: orchestrator/tool-loop }
exchange:
  - { module: llm, protocol: LLM, provider: [first, second] }
  - { module: orchestrator, protocol: LLM, provider: llm }
`)
      expect((await host.run('careful', 'hi')).text).to.equal('hello')
    } finally {
      await host.close(0)
    }
  })
})
