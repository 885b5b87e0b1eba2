import type { PendingAnswer, PendingCall } from 'agent-host'
import { expect } from 'chai'
import { approvalId } from '../../../src/durable/approvals/approvals.ts'
import type { StoredApproval } from '../../../src/durable/approvals/stored-approval.ts'
import type { Before } from '../../../src/durable/continuation/before.ts'
import { type CallEndings, closedCalls, findEndings, settle } from '../../../src/durable/continuation/settle.ts'

const call = (callId: string, name: string, more: Partial<PendingCall> = {}): PendingCall => ({
  callId,
  kind: 'approval',
  name,
  arguments: {},
  ...more,
})
const WEATHER = call('w1', 'weather', { kind: 'client_tool' })
const sunny = (callId: string): PendingAnswer => ({ callId, kind: 'client_tool', result: { text: 'sunny' } })
const NONE: CallEndings = new Map()
const told = (toolCallId: string, ...sentences: string[]) => ({
  role: 'tool',
  toolCallId,
  content: sentences.join(' '),
  isError: true,
})
const superseded = (name: string) =>
  `The call of '${name}' was not executed: it was superseded by a message of the user.`
const expired = (name: string) => `The call of '${name}' was not executed: no one decided in time.`
const elsewhere = (name: string) =>
  `The call of '${name}' was allowed by a person and runs in another branch of the conversation: its result is not known here.`

describe('results of calls that are open when a message comes', () => {
  it('are the outputs of the client, and how all others ended', () => {
    expect(settle([WEATHER, call('c1', 'pay')], [sunny('w1')], NONE)).to.deep.equal([
      { role: 'tool', toolCallId: 'w1', content: 'sunny' },
      told('c1', superseded('pay')),
    ])
    expect(settle([WEATHER], [], NONE)).to.deep.equal([told('w1', superseded('weather'))])
    expect(settle([], [], NONE)).to.deep.equal([])
  })

  it('are no outputs of calls that a person decides about, or that another agent makes', () => {
    const nested = call('n1', 'weather', { kind: 'client_tool', within: 'c2' })
    const decision: PendingAnswer = { callId: 'w1', kind: 'approval', decision: 'approve' }
    expect(settle([call('c1', 'pay'), nested, WEATHER], [sunny('c1'), sunny('n1'), decision], NONE)).to.deep.equal([
      told('c1', superseded('pay')),
      told('c2', superseded('weather')),
      told('w1', superseded('weather')),
    ])
  })

  it('are one for each call of the conversation, which says each thing once', () => {
    const within = (callId: string, name: string) => call(callId, name, { within: 'c1' })
    const [one, again, note, buy] = [within('n1', 'pay'), within('n2', 'pay'), within('n3', 'note'), within('n4', '$&')]
    const endings: CallEndings = new Map([
      [one, 'superseded'],
      [note, 'elsewhere'],
      [buy, 'cancelled'],
    ])
    expect(settle([one, again, note, buy], [], endings)).to.deep.equal([
      told('c1', superseded('pay'), elsewhere('note'), "The call of '$&' was not executed: it was cancelled."),
    ])
  })
})

describe('calls of a run', () => {
  const pending = [call('c1', 'pay'), call('c2', 'note'), call('c3', 'buy'), call('c4', 'ask')]
  const before = (approvals: StoredApproval[], more: Partial<Before> = {}, open = pending) =>
    ({ approvals, conversation: { messages: [], last: { response_id: 'resp_1', pending: open } }, ...more }) as Before
  const approval = (index: number, more: Partial<StoredApproval> = {}) =>
    ({ id: approvalId('resp_1', index), status: 'approved', continuedBy: 'resp_2', ...more }) as StoredApproval
  const endingsOf = (...given: Parameters<typeof before>) => [...findEndings(before(...given)).values()]

  it('run elsewhere where they were allowed and another run has continued with them', () => {
    const all = [
      approval(0),
      approval(1, { status: 'rejected' }),
      approval(2, { status: 'edited' }),
      approval(3, { status: 'answered' }),
    ]
    expect(endingsOf(all)).to.deep.equal(['elsewhere', 'superseded', 'elsewhere', 'elsewhere'])
    expect(endingsOf([approval(0, { continuedBy: null })])[0]).to.equal('superseded')
    // A message took the others with it.
    expect(endingsOf([approval(0), approval(1, { status: 'superseded' })])[0]).to.equal('superseded')
  })

  it('have expired, or were cancelled, each for itself', () => {
    const approvals = [approval(0, { status: 'expired' }), approval(1)]
    expect(endingsOf(approvals)).to.deep.equal(['expired', 'elsewhere', 'superseded', 'superseded'])
    expect(endingsOf(approvals, { isCancelled: true })).to.deep.equal([
      'expired',
      'elsewhere',
      'cancelled',
      'cancelled',
    ])
  })

  it('are closed where no answer can continue it', () => {
    const all = pending.map((_, index) => approval(index, { status: 'expired', continuedBy: null }))
    expect(closedCalls(before(all))).to.deep.equal(pending.map(({ callId, name }) => told(callId, expired(name))))
    expect(closedCalls(before([], { isCancelled: true }))?.[0]).to.deep.equal(
      told('c1', "The call of 'pay' was not executed: it was cancelled."),
    )
    expect(closedCalls(before(all.slice(1)))).to.equal(undefined)
    expect(closedCalls(before([...all.slice(1), approval(0)]))).to.equal(undefined)
    expect(closedCalls(before([], { isCancelled: true }, []))).to.equal(undefined)
    expect(closedCalls(before([], {}, []))).to.equal(undefined)
  })
})
