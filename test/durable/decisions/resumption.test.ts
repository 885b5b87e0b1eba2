import type { PendingAnswer } from 'agent-host'
import { expect } from 'chai'
import { approvalId } from '../../../src/durable/approvals/approvals.ts'
import type { StoredApproval } from '../../../src/durable/approvals/stored-approval.ts'
import { joinClaims } from '../../../src/durable/decisions/claim.ts'
import {
  answersOf,
  type Decisions,
  giveBack,
  hasActed,
  hasFailedUnacted,
  isDecided,
  resume,
  takeDecisions,
} from '../../../src/durable/decisions/resumption.ts'
import type { Step } from '../../../src/durable/runs/steps.ts'
import { HostError } from '../../../src/errors.ts'

const APPROVE = { kind: 'approval', decision: 'approve' } as const
const now = () => Math.floor(Date.now() / 1000)
const idOf = (index: number) => approvalId('resp_1', index)
const approval = (index: number, more: Partial<StoredApproval> = {}): StoredApproval => ({
  version: 1,
  id: idOf(index),
  runId: 'resp_1',
  agent: 'shop',
  pending: { callId: `c${index}`, kind: 'approval', name: 'pay', arguments: {}, digest: 'd' },
  createdAt: 1_800_000_000,
  expiresAt: null,
  status: 'pending',
  decision: null,
  continuedBy: null,
  ...more,
})
const decided = (index: number, more: Partial<StoredApproval> = {}) => {
  const answer: PendingAnswer = { callId: `c${index}`, ...APPROVE }
  return approval(index, { status: 'approved', decision: { answer, by: 'ann', at: 1 }, ...more })
}
const take = (approvals: StoredApproval[], decisions: [string, object][] = []) =>
  takeDecisions(approvals, new Map(decisions) as Decisions, 'bob')
const problemOf = (work: () => unknown) => {
  try {
    return work()
  } catch (error) {
    return error instanceof HostError ? [error.code, error.message] : error
  }
}
const statuses = (approvals: readonly StoredApproval[]) => approvals.map(({ status }) => status)

describe('decisions', () => {
  it('are taken by id: each has its status, who decided, and the digest of its call', () => {
    const all = [approval(0), approval(1), approval(2), approval(3, { pending: ask() })]
    const taken = take(all, [
      [idOf(0), APPROVE],
      [idOf(1), { kind: 'approval', decision: 'edit', arguments: { amount: 1 } }],
      [idOf(2), { kind: 'approval', decision: 'reject' }],
      [idOf(3), { kind: 'question', answers: [3] }],
    ])
    expect(statuses(taken)).to.deep.equal(['approved', 'edited', 'rejected', 'answered'])
    const at = taken[0]?.decision?.at ?? 0
    expect(at).to.be.closeTo(now(), 2)
    const answer = { callId: 'c0', ...APPROVE, by: 'bob', at, digest: 'd' }
    expect(taken[0]?.decision).to.deep.equal({ answer, by: 'bob', at })
    expect(taken[3]?.decision?.answer).to.deep.equal({ callId: 'c3', kind: 'question', answers: [3] })
    function ask() {
      return { callId: 'c3', kind: 'question', name: 'ask', arguments: {} } as const
    }
  })

  it('leave others as they are; those whose time is over have expired', () => {
    const [open, late, soon] = [approval(0), approval(1, { expiresAt: now() }), approval(2, { expiresAt: now() + 60 })]
    const done = decided(3, { expiresAt: 1 })
    const taken = take([open, late, soon, done])
    expect(statuses(taken)).to.deep.equal(['pending', 'expired', 'pending', 'approved'])
    expect([taken[0], taken[2], taken[3]]).to.deep.equal([open, soon, done])
    expect([taken[0] === open, taken[1] === late]).to.deep.equal([true, false])
  })

  it('are refused for what is not there, was decided, has expired, or does not fit', () => {
    const of = (one: StoredApproval, answer: object = APPROVE) => problemOf(() => take([one], [[idOf(0), answer]]))
    expect(problemOf(() => take([approval(0)], [[idOf(1), APPROVE]]))).to.deep.equal([
      'APPROVAL_NOT_FOUND',
      'Approval not found',
    ])
    expect(of(decided(0))).to.deep.equal(['APPROVAL_DECIDED', 'The approval is already approved'])
    expect(of(approval(0, { expiresAt: 1 }))).to.deep.equal(['APPROVAL_DECIDED', 'The approval has expired'])
    expect(of(approval(0), { kind: 'approval', decision: 'ok' })).to.deep.equal([
      'REQUEST_INVALID',
      "decision must be 'approve', 'edit' or 'reject'.",
    ])
  })

  it('let the run go on once nothing is open, and something has an answer', () => {
    const expired = approval(0, { status: 'expired' })
    const beside = { ...expired, pending: { ...expired.pending, beside: [] } }
    expect([[decided(0)], [decided(0), expired], [beside]].map(isDecided)).to.deep.equal([true, true, true])
    expect(
      [[decided(0), approval(1)], [expired], [{ ...beside, status: 'pending' as const }]].map(isDecided),
    ).to.deep.equal([false, false, false])
  })

  it('are answers; what has expired counts as rejected, what was superseded as nothing', () => {
    expect(
      answersOf([decided(0), approval(1, { status: 'expired' }), approval(2, { status: 'superseded' })]),
    ).to.deep.equal([
      { callId: 'c0', ...APPROVE },
      { callId: 'c1', kind: 'approval', decision: 'reject', reason: 'No one decided in time.' },
    ])
  })
})

describe('a run that goes on with decisions', () => {
  it('takes those that were open, and leaves a branch to the run that has them', () => {
    const before = [approval(0), decided(1, { continuedBy: 'resp_3' }), approval(2)]
    const { claim, resumes } = resume(before, take(before, [[idOf(0), APPROVE]]), 'resp_2')
    expect(resumes).to.deep.equal({ runId: 'resp_1', approvals: [idOf(0), idOf(2)] })
    const rows = claim.changes.flatMap(([, text]) => (text?.startsWith('{') ? [JSON.parse(text)] : []))
    const continued = new Map(rows.map(({ id, continuedBy }) => [id, continuedBy]))
    expect(continued.get(idOf(0))).to.equal('resp_2')
    expect([undefined, 'resp_3']).to.include(continued.get(idOf(1)))
    expect(claim.equal.length).to.be.above(0)
  })

  it('takes what was decided before where the last one has expired, and none of those that expired beside', () => {
    const before = [decided(0), approval(1, { expiresAt: 1 })]
    expect(resume(before, take(before), 'resp_2').resumes.approvals).to.deep.equal([idOf(0)])
    const mixed = [approval(0), approval(1, { expiresAt: 1 })]
    expect(resume(mixed, take(mixed, [[idOf(0), APPROVE]]), 'resp_2').resumes.approvals).to.deep.equal([idOf(0)])
    expect(resume([], [], 'resp_2').resumes).to.deep.equal({ runId: '', approvals: [] })
  })

  it('gives back what it took, and no decision of others', () => {
    const now = [
      decided(0, { continuedBy: 'resp_2' }),
      decided(1, { continuedBy: 'resp_2' }),
      decided(2, { continuedBy: 'resp_3' }),
    ]
    const { changes } = giveBack(now, { runId: 'resp_1', approvals: [idOf(0), idOf(2)] }, 'resp_2')
    const rows = changes.flatMap(([, text]) => (text?.startsWith('{') ? [JSON.parse(text)] : []))
    const of = (index: number) => rows.find(({ id }) => id === idOf(index))
    expect(of(0)).to.include({ status: 'pending', decision: null, continuedBy: null })
    expect(of(1)).to.include({ status: 'approved', continuedBy: null })
    expect([undefined, 'resp_3']).to.include(of(2)?.continuedBy)
  })

  it('gives back only when it fails before a call', () => {
    const call = { call: { id: 'c1', name: 'pay', arguments: {} } } as unknown as Step
    const failed = { end: 'failed', at: 1 } as Step
    const text = 'Hm.' as Step
    expect([[text, failed], [failed]].map(hasFailedUnacted)).to.deep.equal([true, true])
    expect([[], [text], [{ end: 'completed', at: 1 } as Step], [call, failed]].map(hasFailedUnacted)).to.deep.equal(
      Array(4).fill(false),
    )
    expect([[call, failed], [text, failed], []].map(hasActed)).to.deep.equal([true, false, false])
  })
})

describe('two claims', () => {
  it('are joined: what must not exist for one, must not for both', () => {
    const one = { changes: [['a', '1']], equal: [['a', '0']] } as const
    const other = { changes: [['b', '1']], equal: [['b', '0']], absent: ['c'] } as const
    const [a, b] = [
      ['a', '1'],
      ['b', '1'],
    ]
    const equal = [
      ['a', '0'],
      ['b', '0'],
    ]
    expect(joinClaims(one, other)).to.deep.equal({ changes: [a, b], equal, absent: ['c'] })
    expect(joinClaims(other, one)).to.deep.equal({ changes: [b, a], equal: equal.toReversed(), absent: ['c'] })
    expect([joinClaims(one, undefined), joinClaims(undefined, other)]).to.deep.equal([one, other])
  })
})
