import type { PendingCall } from 'agent-host'
import { expect } from 'chai'
import { type BeforeOptions, type BeforeSource, loadBefore } from '../../../src/durable/continuation/before.ts'
import { makeFacts } from '../../support/run-facts.ts'

const WEATHER: PendingCall = { callId: 'w1', kind: 'client_tool', name: 'weather', arguments: {} }
const PAY: PendingCall = { callId: 'c1', kind: 'approval', name: 'pay', arguments: {} }
const BESIDE: PendingCall = {
  ...WEATHER,
  beside: [{ call: PAY, answer: { callId: 'c1', kind: 'approval', decision: 'approve' } }],
}

/** The past of a run that waits for these calls and that `resp_2` continues, and the runs whose continuation was looked for. */
async function load(pending: readonly PendingCall[], options: BeforeOptions = {}, end = 'completed') {
  const looked: string[] = []
  const source = {
    store: {
      state: async () => ({ facts: makeFacts(), end: { end } }),
      conversation: async () => ({ messages: [], last: { response_id: 'resp_1', pending } }),
      nextOf: async (id: string) => {
        looked.push(id)
        return 'resp_2'
      },
    },
    approvals: { ofRun: async () => [] },
  } as unknown as BeforeSource
  return { continuedBy: (await loadBefore(source, 'resp_1', options))?.continuedBy, looked }
}

describe('what continues a run', () => {
  it('is read where only one may, and no approval tells it', async () => {
    const found = { continuedBy: 'resp_2', looked: ['resp_1'] }
    const none = { continuedBy: undefined, looked: [] }
    expect(await load([WEATHER], { readsContinued: true })).to.deep.equal(found)
    expect(await load([BESIDE])).to.deep.equal(found)
    expect(await load([WEATHER])).to.deep.equal(none)
    expect(await load([WEATHER, PAY], { readsContinued: true })).to.deep.equal(none)
    expect(await load([], { readsContinued: true })).to.deep.equal(none)
    expect(await load([WEATHER], { readsContinued: true }, 'cancelled')).to.deep.equal(none)
  })
})
