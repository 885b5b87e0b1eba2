import { type AdapterRuns, type AgentHost, HostError, type StoredRunInfo } from 'agent-host'
import { expect } from 'chai'
import { JsonRpcError } from '../../../src/server/adapters/mcp/json-rpc.ts'
import { CallTasks } from '../../../src/server/adapters/mcp/tools/call-tasks.ts'

describe('tasks/update', () => {
  it('is refused as for an unknown task, with -32602, where a delete comes between its look and its answer', async () => {
    const pending = { callId: 'c', kind: 'approval', name: 'pay', arguments: {} }
    const run = { id: 't', data: { kind: 'task' }, continuedBy: null, open: [{ id: 'a', call: pending }] }
    const runs = {
      find: async () => run as unknown as StoredRunInfo,
      answer: () => Promise.reject(new HostError('APPROVAL_NOT_FOUND', 'Approval not found')),
    }
    const tasks = new CallTasks({
      host: {} as AgentHost,
      runs: { of: () => runs } as unknown as AdapterRuns,
      servesInbox: false,
      catalog: {} as never,
    })
    const client = { tenant: '', version: '2026-07-28', baseUrl: undefined, decider: 'me' }
    const responses = { a: { action: 'accept', content: {} } } as never
    const error = await tasks.update({ taskId: 't' }, responses, client).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(JsonRpcError)
    expect([error.code, error.message]).to.deep.equal([-32602, "Invalid params: there is no task 't'"])
  })
})
