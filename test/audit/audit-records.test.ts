import { expect } from 'chai'
import type { AuditFacts, AuditLog } from '../../src/audit/audit-log.ts'
import { auditRecords } from '../../src/audit/audit-records.ts'
import { Visits } from '../../src/host/visits.ts'
import type { RecordStore } from '../../src/store/record-store.ts'

const PENDING = JSON.stringify({ status: 'pending' })
const DECIDED = JSON.stringify({
  id: 'apr_1',
  runId: 'resp_0197',
  agent: 'shop',
  pending: { name: 'pay', arguments: { amount: 40 } },
  status: 'approved',
})

describe('the lines of a decision', () => {
  for (const [outcome, commit, events] of [
    ['is stored', async () => true, ['decision']],
    ['comes too late', async () => false, ['decision', 'decision_lost']],
    ['may be stored or not', () => Promise.reject(new Error('the connection ended')), ['decision', 'decision_unknown']],
  ] as const) {
    it(`say that it ${outcome}`, async () => {
      const lines: AuditFacts[] = []
      const take = (line: AuditFacts) => void lines.push(line)
      const audit = { require: take, note: take, macOf: () => 'mac' } as unknown as AuditLog
      const records = auditRecords({ commit } as unknown as RecordStore, audit, new Visits())
      const guards = { equal: [['approval:apr_1', PENDING]] } as const
      const done = await records.commit([['approval:apr_1', DECIDED]], guards).catch((error: Error) => error.message)
      expect(done).to.equal(await commit().catch((error: Error) => error.message))
      expect(lines.map(({ event }) => event)).to.deep.equal(events)
      for (const line of lines) expect(line).to.include({ tool: 'pay', approval: 'apr_1', status: 'approved' })
    })
  }
})
