import { expect } from 'chai'
import { HandedCalls } from '../../src/server/adapters/chat-compat/handed-calls.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

const user = { role: 'user' as const, content: 'go' }
const output = { role: 'tool' as const, content: 'x', toolCallId: 'c1' }
const waiting = { runId: 'r1', pending: [{ callId: 'c1', kind: 'client_tool' as const, name: 'a', arguments: {} }] }

describe('calls that were handed to chat clients', () => {
  it('lead to their run, for the same tenant, agent, question and call', () => {
    const handed = new HandedCalls()
    const answered = { tenant: '', messages: [user, output] }
    expect(handed.find('a', answered)).to.equal(undefined)
    handed.note('a', { tenant: '', messages: [user] }, waiting)
    expect(handed.find('a', answered)).to.equal('r1')
    expect(handed.find('b', answered)).to.equal(undefined)
    expect(handed.find('a', { ...answered, tenant: 'acme' })).to.equal(undefined)
    expect(handed.find('a', { tenant: '', messages: [{ ...user, content: 'stop' }, output] })).to.equal(undefined)
    expect(handed.find('a', { tenant: '', messages: [user] })).to.equal(undefined)
  })

  it('lead to no run of another user, nor of a conversation that began with another question', () => {
    const handed = new HandedCalls()
    const begun = (content: string) => [{ ...user, content }, { role: 'assistant' as const, content: 'Sure?' }, user]
    const asked = { tenant: '', user: 'ada', messages: begun('pay A') }
    handed.note('a', asked, waiting)
    const answered = { ...asked, messages: [...asked.messages, output] }
    expect(handed.find('a', answered)).to.equal('r1')
    for (const other of [{ user: 'bob' }, { user: undefined }, { messages: [...begun('pay B'), output] }]) {
      expect(handed.find('a', { ...answered, ...other })).to.equal(undefined)
    }
  })

  it('are no more than 10,000: the least recently used is forgotten, and a server that starts knows none', () => {
    const handed = new HandedCalls()
    const [call] = waiting.pending
    const pending = Array.from({ length: 10_000 }, (_, index) => ({ ...call, callId: `n${index}` }))
    const find = (toolCallId: string, known = handed) =>
      known.find('a', { tenant: '', messages: [user, { ...output, toolCallId }] })
    handed.note('a', { tenant: '', messages: [user] }, { ...waiting, pending } as typeof waiting)
    expect([find('n0'), find('n1')]).to.deep.equal(['r1', 'r1'])
    handed.note('a', { tenant: '', messages: [user] }, waiting)
    expect(['c1', 'n0', 'n1', 'n2', 'n9999'].map((id) => find(id))).to.deep.equal(['r1', 'r1', 'r1', undefined, 'r1'])
    expect(find('c1', new HandedCalls())).to.equal(undefined)
  })

  it('of one answer are kept in the time that one takes, however long the conversation is', () => {
    const messages = Array.from({ length: 100_000 }, () => ({ ...user, content: 'a question of some length' }))
    const [call] = waiting.pending
    const pending = Array.from({ length: 100 }, (_, index) => ({ ...call, callId: `n${index}` }))
    const handed = new HandedCalls()
    const spentMs = measureCpuTime()
    handed.note('a', { tenant: '', messages }, { ...waiting, pending } as typeof waiting)
    expect(spentMs()).to.be.below(500)
    expect(handed.find('a', { tenant: '', messages: [...messages, { ...output, toolCallId: 'n99' }] })).to.equal('r1')
  })

  it('are kept without the words of the user, in keys that are short for a long id, too', () => {
    const handed = new HandedCalls()
    const keys: string[] = []
    const { set } = Map.prototype
    Map.prototype.set = function (key, value) {
      keys.push(String(key))
      return set.call(this, key, value)
    }
    try {
      const [call] = waiting.pending.map((each) => ({ ...each, callId: 'c'.repeat(10_000) }))
      const messages = [{ ...user, content: 'my PIN is 4711' }]
      handed.note('a', { tenant: '', messages }, { ...waiting, pending: call ? [call] : [] })
    } finally {
      Map.prototype.set = set
    }
    expect(keys).to.have.length(1)
    expect(keys[0]).to.match(/^[\w-]{43}$/)
  })
})
