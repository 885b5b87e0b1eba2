import { expect } from 'chai'
import { LocalCallMemory } from '../../../src/server/adapters/mcp/call-memory/local-call-memory.ts'
import { Elicitations } from '../../../src/server/adapters/mcp/elicitation/elicitations.ts'
import { CallInFlight } from '../../../src/server/adapters/mcp/handshake-protocol.ts'
import { toCall } from '../../../src/server/adapters/mcp/tools/call.ts'

describe('a call of MCP 2025-11-25 whose question cannot be sent', () => {
  it('ends, and leaves nothing that waits for its client', async () => {
    const pending = [{ callId: 'c', kind: 'approval', name: 'pay', arguments: {} }]
    const givenUp: string[] = []
    const tools = {
      call: () => toCall(Promise.resolve({ content: [], waiting: { state: 's', pending } })),
      giveUp: async (state: string) => void givenUp.push(state),
    }
    const ended: unknown[] = []
    const call = new CallInFlight(
      { id: 1, method: 'tools/call', params: { name: 'shop' } },
      { version: '2025-11-25', key: 'ask-1', tenant: '', decider: 'ann' } as never,
      {
        tools: tools as never,
        elicitations: new Elicitations(new LocalCallMemory()),
        onEnd: (each) => ended.push(each),
      },
    )
    call.onQuestion = () => {
      throw new Error('The client reads more slowly than the agent responds.')
    }
    expect(String(await call.answer.catch((error) => error))).to.contain('reads more slowly')
    expect([ended, givenUp]).to.deep.equal([[call], ['s']])
  })
})
