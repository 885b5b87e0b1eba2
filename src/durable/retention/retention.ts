import type { RecordStore } from '../../store/record-store.ts'
import { listTenants } from '../../store/tenant-records.ts'
import type { ConversationStore } from '../conversations/conversation-store.ts'
import { turnKey } from '../conversations/conversation-tree.ts'
import { BYTES, bytesPrefix, removeBytes } from '../conversations/turn-bytes.ts'
import { expireRequests } from '../idempotency/idempotent-requests.ts'
import { tenantPart } from '../rows/tenant-part.ts'
import type { UnreadableRows } from '../rows/unreadable-rows.ts'
import type { RunIds } from '../runs/run-ids.ts'
import type { RunStore } from '../runs/run-store.ts'
import { WakeLoop } from '../wake-loop.ts'
import { expireDeliveries } from '../webhooks/delivery-rows.ts'
import type { Webhooks } from '../webhooks/outbox.ts'

/** Runs of one tenant, with their conversations. */
export interface KeptRuns {
  readonly store: RunStore
  readonly conversations: ConversationStore
  readonly unreadable: UnreadableRows
}

export interface RetentionOptions {
  /** The whole store. */
  readonly records: RecordStore
  readonly ids: RunIds
  readonly of: (tenant: string) => KeptRuns
  /** Undefined keeps runs for ever. */
  readonly retentionDays: number | undefined
  readonly webhooks?: Webhooks | undefined
}

interface Care {
  /** Works on each run: one that cannot be read or changed holds up none of the others. */
  readonly forEach: (ids: readonly string[], work: (id: string) => Promise<unknown>) => Promise<unknown>
  readonly report: (error: unknown) => void
}

const SWEEP_EVERY_MS = 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** Rows that are read at once. */
const PAGE = 100

/** Deletes what is too old, of all tenants: at the start, and every hour. */
export class Retention {
  readonly #options: RetentionOptions
  readonly #care: Care
  readonly #loop: WakeLoop
  /** Ids of turns that the last sweep did not find, only their bytes. */
  #missingTurns: ReadonlySet<string> = new Set()

  constructor(options: RetentionOptions, care: Care) {
    this.#options = options
    this.#care = care
    this.#loop = new WakeLoop({ everyMs: SWEEP_EVERY_MS, look: () => this.#sweep(), onFailure: care.report })
  }

  start(): void {
    this.#loop.start()
  }

  /** Breaks off the sweep under way. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Deletes what is older than the retention, bytes without a turn, expired requests, and deliveries that have no webhook any more. */
  async #sweep(): Promise<boolean> {
    const { records, of, webhooks } = this.#options
    await expireRequests(records).catch(this.#care.report)
    await expireDeliveries(records, of('').unreadable, webhooks?.all ?? []).catch(this.#care.report)
    await this.#sweepTenants()
    return false
  }

  async #sweepTenants(): Promise<void> {
    const { records, retentionDays, of } = this.#options
    const missing = new Set<string>()
    for (const tenant of await listTenants(records)) {
      if (this.#loop.isStopped) return
      for (const id of await sweepBytes(tenantPart(records, tenant), this.#missingTurns)) missing.add(id)
      if (retentionDays !== undefined) await this.#removeOld(of(tenant), retentionDays)
    }
    this.#missingTurns = missing
  }

  async #removeOld(runs: KeptRuns, retentionDays: number): Promise<void> {
    const beforeMs = Date.now() - retentionDays * DAY_MS
    await this.#removeConversations(runs, beforeMs)
    await this.#removeRuns(runs, beforeMs)
  }

  async #removeConversations(runs: KeptRuns, beforeMs: number): Promise<void> {
    const { store, conversations, unreadable } = runs
    for (let after: string | undefined; ; ) {
      const { ids, next } = await conversations.listUnused(beforeMs, after, PAGE, unreadable)
      await this.#care.forEach(ids, (id) => conversations.delete(id, (runId) => store.has(runId)))
      if (next === undefined || this.#loop.isStopped) return
      after = next
    }
  }

  /** A conversation that is in use keeps its runs, however old they are. */
  async #removeRuns({ store, conversations }: KeptRuns, beforeMs: number): Promise<void> {
    const before = this.#options.ids.firstAt(beforeMs)
    for (let after: string | undefined; ; ) {
      const old = await store.list({ before, after, limit: PAGE })
      if (old.length === 0 || this.#loop.isStopped) return
      await this.#care.forEach(old, async (id) => {
        if (!(await conversations.isInUse(id, beforeMs / 1000))) await store.delete(id)
      })
      after = old.at(-1)
    }
  }
}

/**
 * Removes bytes whose turn was never stored: the server died in between. A turn is stored right after its bytes, so only those go
 * whose turn was missing at the look before, too.
 *
 * @param missing ids of the turns that were missing then
 * @returns ids of the turns that are missing now
 */
export async function sweepBytes(store: RecordStore, missing: ReadonlySet<string>): Promise<Set<string>> {
  const stillMissing = new Set<string>()
  for (let after: string | undefined; ; ) {
    const [key] = await store.list({ prefix: BYTES, limit: 1, after })
    if (key === undefined) return stillMissing
    const turnId = key.slice(BYTES.length, key.indexOf(':', BYTES.length))
    const [turn] = await store.get([turnKey(turnId)])
    if (turn === undefined && missing.has(turnId)) {
      await store.commit(await removeBytes(store, turnId), { absent: [turnKey(turnId)] })
    } else if (turn === undefined) stillMissing.add(turnId)
    // After all rows of this turn.
    after = `${bytesPrefix(turnId)}~`
  }
}
