import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { AgentRun } from '../../src/run/agent-run.ts'

const makeRun = () => AgentRun.begin({ agentId: 'a', agentVersion: '1', entryPoint: '__entry__' }, { messages: [] })

describe('views of a run', () => {
  it('keep earlier overrides when others are added', () => {
    const heard: string[] = []
    const signal = new AbortController().signal
    const view = makeRun()
      .with({ signal, addUsage: () => heard.push('usage') })
      .with({ markIncomplete: () => heard.push('incomplete') })
      .with({ reportProgress: () => heard.push('progress') })
      .with({ user: 'ann' })
    expect(view.signal).equal(signal)
    view.addUsage({})
    view.markIncomplete('max_steps')
    view.reportProgress('half')
    expect(heard).deep.equal(['usage', 'incomplete', 'progress'])
  })
})

describe('the signal of a run', () => {
  it('takes many listeners without a warning of Node', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    const { signal } = makeRun()
    for (let call = 0; call < 20; call++) signal.addEventListener('abort', () => undefined)
    await setTimeout(0)
    process.off('warning', note)
    expect(warnings).to.deep.equal([])
  })
})

describe('throwIfStopped', () => {
  const stops = (run: AgentRun): unknown => {
    try {
      run.throwIfStopped()
    } catch (error) {
      return error
    }
    return 'goes on'
  }

  it('throws the reason of an aborted run in every view', () => {
    const run = makeRun()
    expect(stops(run)).equal('goes on')
    run.abort.request('enough')
    expect([stops(run), stops(run.within('1')), stops(run.inTool('c1'))]).deep.equal(['enough', 'enough', 'enough'])
  })

  it('throws the refusal of a request wherever the run goes on, and what it waits for is cut off', () => {
    const run = makeRun()
    const { signal } = run
    const refusal = run.refuse('Rename yours.', 'tools')
    expect([stops(run), stops(run.inTool('c1')), signal.reason]).deep.equal([refusal, refusal, refusal])
    expect([refusal.code, refusal.message, refusal.field]).deep.equal(['REQUEST_INVALID', 'Rename yours.', 'tools'])
  })

  it('ends a waiting run, but not its tools: all calls of a step are executed', () => {
    const run = makeRun()
    const waits = run.waiting.begin({ callId: 'c1', kind: 'client_tool', name: 'weather', arguments: {} })
    expect(stops(run)).equal(waits)
    expect(stops(run.within('1'))).equal(waits)
    expect(stops(run.inTool('c2'))).equal('goes on')
  })
})
