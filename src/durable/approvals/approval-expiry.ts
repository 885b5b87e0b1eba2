import { forEachConcurrent } from '../../async.ts'
import { HostError } from '../../errors.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { type ExpiredApproval, listExpired } from './approvals.ts'

/** Decides the approvals of a tenant. */
interface Expiring {
  /** @throws HostError for an approval that is gone, cannot be read, or has no place to go on yet */
  expire(id: string): Promise<void>
}

/** Time between two looks at an approval that cannot be read. */
const LOOK_AGAIN_MS = 60_000

/** Closes the approvals of all tenants that were not decided in time, and goes on with the runs that wait for nothing else. */
export class ApprovalExpiry {
  readonly #records: RecordStore
  readonly #decidingOf: (tenant: string) => Expiring
  /** Until when approvals that cannot be read are passed over, by `performance.now()`. */
  readonly #passedOverUntilMs = new Map<string, number>()

  /**
   * @param records of the whole store
   * @param decidingOf decides for a tenant
   */
  constructor(records: RecordStore, decidingOf: (tenant: string) => Expiring) {
    this.#records = records
    this.#decidingOf = decidingOf
  }

  /** @throws HostError `STORE_UNAVAILABLE` */
  async sweep(): Promise<void> {
    const nowMs = performance.now()
    for (const [key, untilMs] of this.#passedOverUntilMs) if (untilMs <= nowMs) this.#passedOverUntilMs.delete(key)
    for (let after: string | undefined; ; ) {
      const { expired, next } = await listExpired(this.#records, after)
      const due = expired.filter(({ key }) => !this.#passedOverUntilMs.has(key))
      await forEachConcurrent(oneOfEachRun(due), (approval) => this.#expire(approval))
      if (next === undefined) return
      after = next
    }
  }

  /** One that cannot be read, or has no place to go on yet, holds up no other. */
  async #expire({ key, tenant, id }: ExpiredApproval): Promise<void> {
    try {
      await this.#decidingOf(tenant).expire(id)
    } catch (error) {
      if (!(error instanceof HostError) || error.code === 'STORE_UNAVAILABLE') throw error
      // Deleted while it could not be read: this key was not known then.
      if (error.code === 'APPROVAL_NOT_FOUND') await this.#records.commit([[key, undefined]])
      if (error.code === 'RECORD_UNREADABLE') this.#passedOverUntilMs.set(key, performance.now() + LOOK_AGAIN_MS)
    }
  }
}

/** Those of a run expire together. */
function oneOfEachRun(approvals: readonly ExpiredApproval[]): ExpiredApproval[] {
  const runOf = ({ tenant, id }: ExpiredApproval) => `${tenant}/${id.slice(0, id.lastIndexOf('-'))}`
  return [...new Map(approvals.map((approval) => [runOf(approval), approval])).values()]
}
