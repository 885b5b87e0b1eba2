import type { Response } from 'agent-host'
import { expect } from 'chai'
import { BudgetSpent, withinBudget } from '../../../modules/orchestrator/lib/budget.ts'
import { makeRun } from '../../support/fake-run.ts'
import { clockTools, clockFiles as files, runAgent } from '../../support/run-agent.ts'
import { closeServers, makeServer } from '../../support/server.ts'

const calls = (name: string, args: object = {}, more: object = {}) => ({
  tool_calls: [{ name, arguments: args }],
  ...more,
})
const loop = (config: object, replies: unknown[], module = 'orchestrator/tool-loop') => ({
  id: 'agent',
  modules: [{ id: 'llm', module: 'llm/mock', config: { replies } }, clockTools, { id: 'loop', module, config }],
})
const outcome = async (agent: object, facts = {}) => {
  const { text, incompleteReason } = await runAgent(agent, 'hi', { files, ...facts })
  return [text, incompleteReason]
}

describe('budgets of orchestrators', () => {
  afterEach(closeServers)

  it('count the input and output tokens that models report', async () => {
    const usage = { input_tokens: 40, output_tokens: 20 }
    const agent = loop({ max_tokens: 100 }, [calls('counter', {}, { usage, text: 'One moment.' })])
    const { text, incompleteReason, usage: used } = await runAgent(agent, 'hi', { files })
    expect(text).to.equal('One moment.\n\nOne moment.\n\nI stopped, because this answer has already taken 120 tokens.')
    expect([incompleteReason, used.inputTokens, used.outputTokens]).to.deep.equal(['max_tokens', 80, 40])
  })

  it('estimate the tokens of models that report none', async () => {
    const agent = loop({ max_tokens: 30, system_prompt: 'x'.repeat(100) }, [calls('counter')])
    expect(await outcome(agent)).to.deep.equal([
      'I stopped, because this answer has already taken 53 tokens.',
      'max_tokens',
    ])
  })

  it('abort the running tool, or the model mid-sentence, when time is up', async () => {
    const started = Date.now()
    expect(await outcome(loop({ max_seconds: 0.2 }, [calls('slow'), 'done']))).to.deep.equal([
      'I stopped after 0.2 seconds without coming to an end.',
      'max_seconds',
    ])
    const words = { text: `one ${'more '.repeat(60)}`, delay_ms: 80 }
    const [text, reason] = await outcome(loop({ max_seconds: 1 }, [words]))
    expect(text).to.match(/^one [more ]*\n\nI stopped after 1 seconds? without coming to an end\.$/)
    expect(reason).to.equal('max_seconds')
    // The tool alone takes three seconds.
    expect(Date.now() - started).to.be.below(3000)
  })

  it('do not touch an answer within its budget', async () => {
    const agent = loop({ max_seconds: 5, max_tokens: 1000 }, [calls('clock', { city: 'Lima' }), 'noon'])
    expect(await outcome(agent)).to.deep.equal(['noon', undefined])
  })

  it('end a run that was cancelled as cancelled, not as out of time', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 50)
    const failure = await outcome(loop({ max_seconds: 5 }, [calls('slow')]), { signal: controller.signal }).catch(
      (error: { code: string }) => error.code,
    )
    expect(failure).to.equal('RUN_ABORTED')
  })

  it('add nothing to a run that was cancelled first', async () => {
    const run = makeRun()
    const work = async () => {
      run.abort(new Error('cancelled'))
      throw new BudgetSpent('max_tokens', 'I stopped.')
    }
    const failure = await withinBudget({}, run, {} as Response, work).catch((error: Error) => error.message)
    expect([failure, run.incomplete]).to.deep.equal(['cancelled', []])
  })

  it('fail a run whose model fails, as without a budget', async () => {
    const failure = await outcome(loop({ max_seconds: 5, max_tokens: 9 }, [{ error: 'no such model' }])).catch(
      (error: Error) => error.message,
    )
    expect(failure).to.equal('no such model')
  })

  it('detect a repeated call with the same result, whatever the order of its arguments', async () => {
    const agent = loop({ max_repeats: 2, max_steps: 3 }, [
      calls('broken', { a: 1, b: 2 }),
      calls('broken', { b: 2, a: 1 }),
    ])
    expect(await outcome(agent)).to.deep.equal([
      'I stopped, because I was about to use broken in the same way again, after it had told me the same 2 times.',
      'repeated_call',
    ])
  })

  it('allow a repeated call whose result changes', async () => {
    const agent = loop({ max_repeats: 2, max_steps: 4 }, [calls('counter')])
    expect(await outcome(agent)).to.deep.equal(['I stopped after 4 steps without coming to an answer.', 'max_steps'])
  })

  it('store the reason in an incomplete response', async () => {
    const { app } = await makeServer(
      { adapters: ['ResponsesCompatApiAdapter'] },
      { ...files, 'agents/agent.yml': JSON.stringify(loop({ max_steps: 1 }, [calls('counter')])) },
    )
    const payload = { model: 'agent', input: 'hi' }
    const { body } = await app.inject({ method: 'POST', url: '/compat/responses', payload })
    const { status, incomplete_details } = JSON.parse(body)
    expect([status, incomplete_details]).to.deep.equal(['completed', { reason: 'max_steps' }])
  })
})
