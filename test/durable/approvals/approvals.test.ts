import { join } from 'node:path'
import { expect } from 'chai'
import { ApprovalExpiry } from '../../../src/durable/approvals/approval-expiry.ts'
import { Approvals, approvalId, claimOf, closeOpen, openApprovals } from '../../../src/durable/approvals/approvals.ts'
import type { StoredApproval, StoredDecision } from '../../../src/durable/approvals/stored-approval.ts'
import { joinDecisions } from '../../../src/durable/continuation/join-decisions.ts'
import { Deciding } from '../../../src/durable/decisions/deciding.ts'
import {
  answersOf,
  type Decisions,
  giveBack,
  resume,
  takeDecisions,
} from '../../../src/durable/decisions/resumption.ts'
import { RequestRepeated } from '../../../src/durable/decisions/until-claimed.ts'
import { tenantPart } from '../../../src/durable/rows/tenant-part.ts'
import { UnreadableRows } from '../../../src/durable/rows/unreadable-rows.ts'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import type { HostError } from '../../../src/errors.ts'
import { silentLog } from '../../../src/protocols/log.ts'
import type { PendingAnswer, PendingCall } from '../../../src/run/waiting/pending-call.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Change, RecordStore } from '../../../src/store/record-store.ts'
import { eventually } from '../../support/eventually.ts'
import { makeProject } from '../../support/temp-project.ts'

const PAY: PendingCall = {
  callId: 'c1',
  kind: 'approval',
  name: 'pay',
  arguments: { amount: 40 },
  digest: 'abc',
  schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
}
const ASK: PendingCall = {
  callId: 'c2',
  kind: 'question',
  name: 'choose',
  arguments: {},
  message: 'Which size?',
  schema: { type: 'number' },
  earlierAnswers: ['red', 'round'],
}
const APPROVE = { kind: 'approval', decision: 'approve' } as const

const now = (): number => Math.floor(Date.now() / 1000)

describe('approvals', () => {
  const ids = new RunIds('resp_')
  let records: RecordStore
  let approvals: Approvals
  /** Ids of the runs that go on after decisions. */
  const begun: string[] = []

  beforeEach(async () => {
    begun.length = 0
    const { dir } = await makeProject()
    records = await openStore({ store: 'sqlite', dir: join(dir, 'responses'), projectDir: dir })
    approvals = new Approvals(records)
  })
  afterEach(() => records.close())

  async function open(pending: PendingCall[], more: { createdAt?: number; ttl?: number } = {}): Promise<string> {
    const runId = ids.next()
    const { createdAt = now(), ttl } = more
    const timed = ttl === undefined ? pending : pending.map((call) => ({ ...call, ttlSeconds: ttl }))
    await records.commit(openApprovals({ runId, agent: 'shop', pending: timed, createdAt }))
    return runId
  }

  /** What would be a run is its claim alone. */
  const decidingIn = (records: RecordStore) =>
    new Deciding({
      approvals: new Approvals(records),
      goOn: async ({ approvals: before, decisions, by }) => {
        const id = ids.next()
        const { claim } = resume(before, takeDecisions(before, decisions, by), id)
        if (!(await records.commit(claim.changes, { equal: claim.equal }))) throw new RequestRepeated()
        begun.push(id)
        return id
      },
      log: silentLog,
    })
  const decide = async (id: string, answer: typeof APPROVE | object, by: string): Promise<StoredApproval> => {
    const decided = await decidingIn(records).decide(new Map([[id, answer]]) as Decisions, by)
    return decided.approvals.find((approval) => approval.id === id) as StoredApproval
  }

  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'no failure',
      ({ code, message }) => [code, message],
    )
  const status = async (runId: string, index = 0) => (await approvals.get(approvalId(runId, index))).status
  const listOpen = async (page = {}) => {
    const { approvals: found, hasMore } = await approvals.list(
      { onlyOpen: true, limit: 2, order: 'asc', after: undefined, ...page },
      new UnreadableRows(silentLog),
    )
    return { ids: found.map(({ id }) => id), hasMore }
  }

  it('are listed until a page has 10 MiB, and the rest follows', async () => {
    const large = { ...PAY, arguments: { text: 'x'.repeat(4 * 1024 * 1024) } }
    const all: string[] = []
    for (let count = 0; count < 3; count++) all.push(approvalId(await open([large]), 0))
    const pages: string[][] = []
    for (let hasMore = true; hasMore; ) {
      const page = await listOpen({ limit: 100, after: pages.flat().at(-1) })
      pages.push(page.ids)
      hasMore = page.hasMore
    }
    expect(pages).to.deep.equal([all.slice(0, 2), all.slice(2)])
  })

  it('list the calls to decide, with their messages', async () => {
    const runId = await open([{ ...PAY, kind: 'client_tool' }, PAY, ASK])
    const found = await approvals.ofRun(runId)
    expect(found.map(({ id, pending }) => [id, pending.name])).to.deep.equal([
      [approvalId(runId, 1), 'pay'],
      [approvalId(runId, 2), 'choose'],
    ])
    const [{ version: _, createdAt, ...approval }] = found as [StoredApproval]
    expect(createdAt).to.be.closeTo(now(), 2)
    expect(approval).to.deep.equal({
      id: approvalId(runId, 1),
      runId,
      agent: 'shop',
      pending: PAY,
      expiresAt: null,
      status: 'pending',
      decision: null,
      continuedBy: null,
    })
  })

  it('are decided once, even in a race', async () => {
    const id = approvalId(await open([PAY]), 0)
    const tries = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        decide(id, APPROVE, `key ${n}`).then(
          () => 'won',
          ({ code }: HostError) => code,
        ),
      ),
    )
    expect(tries.sort()).to.deep.equal([...Array(9).fill('APPROVAL_DECIDED'), 'won'])
    const { status: decided, decision } = await approvals.get(id)
    const { answer, by, at } = decision as StoredDecision
    expect(by).to.match(/^key \d$/)
    expect([decided, answer]).to.deep.equal(['approved', { ...APPROVE, callId: 'c1', digest: 'abc', by, at }])
    expect(await failure(decide(id, APPROVE, 'late'))).to.deep.equal([
      'APPROVAL_DECIDED',
      'The approval is already approved',
    ])
  })

  it('accept valid edits, reasons, and answers together with earlier ones', async () => {
    const runId = await open([PAY, ASK])
    const edit = { kind: 'approval', decision: 'edit', arguments: { amount: 'much' } } as const
    const problem = 'amount must be a number.'
    expect(await failure(decide(approvalId(runId, 0), edit, 'me'))).to.deep.equal(['REQUEST_INVALID', problem])
    await decide(approvalId(runId, 0), { ...edit, arguments: { amount: 4 } }, 'me')
    expect(await status(runId)).to.equal('edited')
    const { decision } = await decide(approvalId(runId, 1), { kind: 'question', answers: [3] }, 'me')
    expect(decision?.answer).to.deep.equal({ kind: 'question', callId: 'c2', answers: ['red', 'round', 3] })
    const other = await open([PAY])
    await decide(approvalId(other, 0), { kind: 'approval', decision: 'reject', reason: 'no' }, 'me')
    expect(await status(other)).to.equal('rejected')
  })

  it('are listed page by page, open ones or all', async () => {
    const runs = [await open([PAY]), await open([PAY]), await open([PAY])]
    const [first, second, third] = runs.map((runId) => approvalId(runId, 0)) as [string, string, string]
    expect(await listOpen()).to.deep.equal({ ids: [first, second], hasMore: true })
    expect(await listOpen({ after: second })).to.deep.equal({ ids: [third], hasMore: false })
    await decide(first, APPROVE, 'me')
    expect(await listOpen({ order: 'desc' })).to.deep.equal({ ids: [third, second], hasMore: false })
    expect((await listOpen({ onlyOpen: false, limit: 9 })).ids).to.deep.equal([first, second, third])
  })

  it('expire or are cancelled, and can then no longer be decided', async () => {
    const late = await open([PAY], { createdAt: now() - 10, ttl: 5 })
    const open1 = await open([PAY], { ttl: 60 })
    const id = approvalId(late, 0)
    expect(await failure(decide(id, APPROVE, 'me'))).to.deep.equal(['APPROVAL_DECIDED', 'The approval has expired'])
    await new ApprovalExpiry(records, () => decidingIn(records)).sweep()
    expect([await status(late), await status(open1)]).to.deep.equal(['expired', 'pending'])
    const before = await approvals.ofRun(open1)
    await approvals.commit(claimOf(before, closeOpen(before, 'cancelled')))
    expect(await status(open1)).to.equal('cancelled')
    expect((await listOpen()).ids).to.deep.equal([])
  })

  it('do not expire once they are decided, also where that comes between the two looks of the sweep', async () => {
    const runId = await open([PAY], { createdAt: now() - 10, ttl: 5 })
    const expiry = new ApprovalExpiry(records, () => ({
      async expire(id) {
        // Was read before its time was over, and is committed now.
        const [text = ''] = await records.get([`approval:${id}`])
        const inTime = { ...JSON.parse(text), expiresAt: now() + 1 }
        await records.commit([[`approval:${id}`, JSON.stringify(inTime)]])
        await decide(id, APPROVE, 'me')
        await decidingIn(records).expire(id)
      },
    }))
    await expiry.sweep()
    expect([await status(runId), begun.length]).to.deep.equal(['approved', 1])
  })

  it('are not decided once they were deleted with their run, while a request was read', async () => {
    const runId = await open([PAY])
    const join = async (answers: readonly PendingAnswer[] | undefined) => {
      return joinDecisions(await approvals.ofRun(runId), [PAY], { id: ids.next(), agent: 'shop', answers, by: 'me' })
    }
    const answers = [{ callId: 'c1', ...APPROVE }]
    expect((await join(answers))?.claim.equal).to.have.lengthOf(1)
    await records.commit((await approvals.keysOfRun(runId)).map((key): Change => [key, undefined]))
    expect(await failure(join(answers))).to.deep.equal(['APPROVAL_NOT_FOUND', 'Approval not found'])
    expect(await join(undefined)).to.equal(undefined)
  })

  it('expire for every tenant, in its part of the store', async () => {
    const tenants = ['', 'acme', 'globex']
    const late = { agent: 'shop', pending: [{ ...PAY, ttlSeconds: 5 }], createdAt: now() - 10 }
    const runIds = tenants.map(() => ids.next())
    for (const [index, tenant] of tenants.entries()) {
      await tenantPart(records, tenant).commit(openApprovals({ ...late, runId: runIds[index] as string }))
    }
    await new ApprovalExpiry(records, (tenant) => decidingIn(tenantPart(records, tenant))).sweep()
    for (const [index, tenant] of tenants.entries()) {
      const [found] = await new Approvals(tenantPart(records, tenant)).ofRun(runIds[index] as string)
      expect(found?.status).to.equal('expired')
    }
    expect(await records.list({ prefix: 'expiring-approval:', limit: 9 })).to.deep.equal([])
  })

  it('cost nothing while they wait: only expiring ones are read', async () => {
    const read: string[] = []
    const watched = new Proxy(records, {
      get: (target, name: keyof RecordStore) => {
        const value = target[name]
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          const result = await (value as (...all: unknown[]) => unknown).apply(target, args)
          if (name === 'get' || name === 'list' || name === 'entries') read.push(...[result].flat(2).map(String))
          return result
        }
      },
    })
    for (const ttl of [undefined, 60, 3600]) await open([PAY], ttl === undefined ? {} : { ttl })
    await new ApprovalExpiry(watched, () => decidingIn(watched)).sweep()
    expect(read).to.deep.equal([])
    const late = await open([PAY], { createdAt: now() - 10, ttl: 5 })
    await new ApprovalExpiry(watched, () => decidingIn(watched)).sweep()
    // Its key, the row, and the rows of its run.
    expect(read).to.have.lengthOf(4)
    expect(await status(late)).to.equal('expired')
  })

  it('expire several at once, and those that cannot be read are passed over for a while', async () => {
    const late = { createdAt: now() - 10, ttl: 5 }
    const runs = await Promise.all(Array.from({ length: 30 }, () => open([PAY, { ...PAY, callId: 'c2' }], late)))
    const [damaged, deleted, ...others] = runs as [string, string, ...string[]]
    await records.commit([
      [`approval:${approvalId(damaged, 0)}`, 'null'],
      [`approval:${approvalId(deleted, 0)}`, undefined],
      [`approval:${approvalId(deleted, 1)}`, undefined],
    ])
    const looks: string[] = []
    let [atOnce, most] = [0, 0]
    const deciding = decidingIn(records)
    const expiry = new ApprovalExpiry(records, () => ({
      async expire(id) {
        looks.push(id)
        most = Math.max(most, ++atOnce)
        await deciding.expire(id).finally(() => atOnce--)
      },
    }))
    await expiry.sweep()
    expect([looks.length, most]).to.deep.equal([30, 20])
    expect(await Promise.all(others.map((runId) => status(runId, 1)))).to.deep.equal(Array(28).fill('expired'))
    looks.length = 0
    await expiry.sweep()
    await expiry.sweep()
    // The second entry of the one that is gone, and the one of the damaged run that can be read: later both are passed over.
    expect(looks.length).to.be.lessThan(4)
  })

  it('that expire beside a decision have the run go on', async () => {
    const runId = await open([PAY, { ...PAY, callId: 'c2' }], { createdAt: now() - 10, ttl: 13 })
    await decide(approvalId(runId, 0), APPROVE, 'me')
    expect((await approvals.get(approvalId(runId, 0))).continuedBy).to.equal(null)
    const all = await eventually(async () => {
      await new ApprovalExpiry(records, () => decidingIn(records)).sweep()
      const found = await approvals.ofRun(runId)
      expect(found.map(({ status }) => status)).to.deep.equal(['approved', 'expired'])
      return found
    })
    expect(all[0]?.continuedBy).to.match(/^resp_/)
    expect(answersOf(all).map((answer) => answer.kind === 'approval' && answer.decision)).to.deep.equal([
      'approve',
      'reject',
    ])
  })

  it('are given back as they were, but for the decisions of others', async () => {
    const runId = await open([PAY, { ...PAY, callId: 'c2' }], { ttl: 60 })
    await decide(approvalId(runId, 0), APPROVE, 'me')
    const before = await approvals.ofRun(runId)
    const decisions: Decisions = new Map([[approvalId(runId, 1), APPROVE]])
    const { claim, resumes } = resume(before, takeDecisions(before, decisions, 'you'), 'resp_next')
    expect(await approvals.commit(claim)).to.equal(true)
    expect(await approvals.commit(claim)).to.equal(false)
    expect((await listOpen()).ids).to.deep.equal([])
    const taken = await approvals.ofRun(runId)
    expect(taken.map(({ continuedBy }) => continuedBy)).to.deep.equal(['resp_next', 'resp_next'])
    expect(await approvals.commit(giveBack(taken, resumes, 'resp_next'))).to.equal(true)
    expect(await approvals.ofRun(runId)).to.deep.equal(before)
    expect((await listOpen()).ids).to.deep.equal([approvalId(runId, 1)])
  })
})
