import { expect } from 'chai'
import type { AuditFile } from '../../src/audit/audit-file.ts'
import { type AuditFacts, AuditLog } from '../../src/audit/audit-log.ts'
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
      const take = (...some: AuditFacts[]) => void lines.push(...some)
      const audit = { require: take, note: take, macOf: () => 'mac' } as unknown as AuditLog
      const records = auditRecords({ commit } as unknown as RecordStore, audit, new Visits())
      const guards = { equal: [['approval:apr_1', PENDING]] } as const
      const done = await records.commit([['approval:apr_1', DECIDED]], guards).catch((error: Error) => error.message)
      expect(done).to.equal(await commit().catch((error: Error) => error.message))
      expect(lines.map(({ event }) => event)).to.deep.equal(events)
      for (const line of lines) expect(line).to.include({ tool: 'pay', approval: 'apr_1', status: 'approved' })
    })
  }

  it('are written together or not at all: nothing says a decision that was refused with another', async () => {
    let written = ''
    // The disk has room for one more line.
    const append = (text: string) => {
      if (written !== '' && `${written}${text}`.split('\n').length > 2) throw new Error('no space left on device')
      written += `${text}\n`
    }
    const log = { info: () => {}, error: () => {} }
    const audit = new AuditLog({ file: { path: 'audit.jsonl', append } as AuditFile, server: 'a', log } as never)
    const commit = () => Promise.reject(new Error('It was committed.'))
    const records = auditRecords({ commit } as unknown as RecordStore, audit, new Visits())
    const keys = ['approval:apr_1', 'approval:apr_2']
    const decide = () =>
      records.commit(
        keys.map((key) => [key, DECIDED] as const),
        { equal: keys.map((key) => [key, PENDING] as const) },
      )
    expect(await decide().catch(({ code }) => code)).to.equal('AUDIT_UNAVAILABLE')
    expect(
      written
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event),
    ).to.deep.equal(['start'])
  })
})
