import { expect } from 'chai'
import type { RunService } from '../../src/durable/run-service.ts'
import { HostError } from '../../src/errors.ts'
import { HandedCalls } from '../../src/server/adapters/chat-compat/handed-calls.ts'

const user = { role: 'user' as const, content: 'go' }
const asked = { tenant: '', messages: [user] }
const answered = { tenant: '', messages: [user, { role: 'tool' as const, content: 'x', toolCallId: 'c1' }] }
const waiting = { runId: 'r1', pending: [{ callId: 'c1', kind: 'client_tool' as const, name: 'a', arguments: {} }] }

describe('calls that were handed to chat clients', () => {
  const make = (open: RunService['open']) => {
    const warnings: string[] = []
    const log = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} }
    return { warnings, handed: new HandedCalls({ durableRuns: { hasStore: true, open }, log }) }
  }

  it('lead to no run while the store fails, which is logged', async () => {
    const { handed, warnings } = make(async () => {
      throw new HostError('STORE_UNAVAILABLE', 'The store does not answer.')
    })
    expect(await handed.find('a', answered)).to.equal(undefined)
    expect(warnings).to.deep.equal([
      'A run is not linked to the one whose calls its client answers: The store does not answer.',
    ])
    handed.note('a', asked, waiting)
    expect(handed.find('a', answered)).to.equal('r1')
    expect(handed.find('a', asked)).to.equal(undefined)
  })

  it('do not wait for a store that hangs', async () => {
    const { handed } = make(() => new Promise(() => {}))
    expect(await handed.find('a', answered)).to.equal(undefined)
  })
})
