import { hash } from 'node:crypto'
import { HostError } from '../../errors.ts'
import { MAX_PAGE_LENGTH } from '../../json.ts'
import { nowSeconds } from '../../now-seconds.ts'
import { type PendingCall, stateOf } from '../../run/waiting/pending-call.ts'
import type { Change, Guards, RecordStore } from '../../store/record-store.ts'
import { parseIndexKey, type TenantItem } from '../../store/tenant-records.ts'
import type { ApprovalStatus } from '../../wire/approval.ts'
import type { Claim } from '../decisions/claim.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'
import { EXPIRING_APPROVALS } from '../rows/tenant-part.ts'
import { isUnreadable, type UnreadableRows } from '../rows/unreadable-rows.ts'
import { RUN_PREFIX, uuidOf } from '../runs/run-ids.ts'
import { WAITING } from '../runs/run-keys.ts'
import { isMarked, markWaiting } from '../runs/waiting-mark.ts'
import { DELIVERIES } from '../webhooks/delivery-rows.ts'
import { DELIVERY_TOPIC, isSilent, type Outbox } from '../webhooks/outbox.ts'
import type { StoredApproval } from './stored-approval.ts'

/** Approvals that are opened for one run. */
export interface NewApprovals {
  readonly runId: string
  readonly agent: string
  readonly pending: readonly PendingCall[]
  readonly createdAt: number
  /** See {@link StoredApproval.isSilent}. */
  readonly isSilent?: boolean
}

/** Changes, and the guards without which nothing is written. */
interface GuardedChanges extends Guards {
  readonly changes: readonly Change[]
}

/** Prefix of the records of approvals. */
export const APPROVALS = 'approval:'
/** Index of those that wait for a decision. */
export const OPEN = 'open-approval:'
/** Index of the open questions that another site answers, by the digest of their `state`. */
const CALLBACKS = 'approval-callback:'
const PAGE = 500
/** Rows of a list: each may have megabytes of arguments. */
const READ_AT_ONCE = 8
const MAX_PER_RUN = 1000
/** More than people look at. */
const MAX_WAITING = 100_000

/** Id of an approval: of its run, and its place among the run's pending calls. Grows with the run's. */
export function approvalId(runId: string, index: number): string {
  return `mcpr_${uuidOf(runId)}-${String(index).padStart(3, '0')}`
}

/** Id of the run that an approval belongs to. */
export function runIdOf(approval: string): string {
  return RUN_PREFIX + approval.slice('mcpr_'.length, approval.lastIndexOf('-'))
}

/** Changes that open the approvals of a run. Client tools need none. */
export function openApprovals({ runId, agent, pending, createdAt, isSilent }: NewApprovals): Change[] {
  return pending.flatMap((call, index): Change[] => {
    if (call.kind === 'client_tool') return []
    const expiresAt = call.ttlSeconds === undefined ? null : createdAt + Math.ceil(call.ttlSeconds)
    const id = approvalId(runId, index)
    const fresh = { status: 'pending', decision: null, continuedBy: null } as const
    const row: StoredApproval = {
      version: ROW_VERSION,
      id,
      runId,
      agent,
      pending: call,
      createdAt,
      expiresAt,
      ...fresh,
      ...(isSilent ? { isSilent } : {}),
    }
    const indexed = openKeysOf(row).map((key): Change => [key, 'null'])
    return [[APPROVALS + id, JSON.stringify(row)], ...indexed]
  })
}

/** Changes that store what a run waits for, together with its end: approvals, and a mark where a program is to run a tool. */
export function openWaiting(waiting: NewApprovals, adapter: string): Change[] {
  const opened = openApprovals({ ...waiting, isSilent: isSilent(adapter) })
  return [...opened, ...(isMarked(adapter, waiting.pending) ? [markWaiting(waiting.runId)] : [])]
}

/** Keys of the indexes that an approval is in until it is closed. */
function openKeysOf({ id, expiresAt, pending }: StoredApproval): string[] {
  const expiring = expiresAt === null ? [] : [`${EXPIRING_APPROVALS}${toSortable(expiresAt)}:${id}`]
  const state = stateOf(pending)
  return [OPEN + id, ...expiring, ...(state === undefined ? [] : [callbackKey(state) + id])]
}

/** The state itself is no text of a key. */
function callbackKey(state: string): string {
  return `${CALLBACKS}${hash('sha256', state)}:`
}

/** Topics of a commit for those who watch the inbox of a tenant, and those who deliver events: none where it changes neither. */
function topicsOfCommit(changes: readonly Change[], tenant: string): string[] {
  const topics = new Set<string>()
  for (const [key] of changes) {
    if (key.startsWith(OPEN)) topics.add(inboxTopic(tenant))
    else if (key.startsWith(DELIVERIES)) topics.add(DELIVERY_TOPIC)
  }
  return [...topics]
}

function inboxTopic(tenant: string): string {
  return `inbox:${encodeURIComponent(tenant)}`
}

/** Unix seconds as a text that sorts like the number. */
function toSortable(seconds: number): string {
  return String(seconds).padStart(12, '0')
}

/** Stored approvals of waiting runs. */
export class Approvals {
  readonly #records: RecordStore
  readonly #tenant: string
  readonly #outbox: Outbox | undefined

  /** @param records of the tenant */
  constructor(records: RecordStore, tenant = '', outbox?: Outbox) {
    this.#records = records
    this.#tenant = tenant
    this.#outbox = outbox
  }

  /**
   * Calls back when approvals of the tenant were opened or closed, on any server that shares the store; also without a reason.
   *
   * @returns a function that ends it
   */
  watch(onChange: () => void): () => void {
    return this.#records.watch([inboxTopic(this.#tenant)], onChange)
  }

  /** @throws HostError `APPROVAL_NOT_FOUND` */
  async get(id: string): Promise<StoredApproval> {
    const text = await this.#textOf(id)
    if (text === undefined) throw approvalNotFound()
    return parseApproval(id, text)
  }

  /** Tells whether there is such an approval, decided or not. */
  async has(id: string): Promise<boolean> {
    return (await this.#textOf(id)) !== undefined
  }

  async #textOf(id: string): Promise<string | undefined> {
    return isApprovalId(id) ? (await this.#records.get([APPROVALS + id]))[0] : undefined
  }

  /**
   * Returns the id of the open question that another site answers with this `state`.
   *
   * @throws HostError `APPROVAL_NOT_FOUND`
   */
  async findByState(state: string): Promise<string> {
    const prefix = callbackKey(state)
    const [key] = await this.#records.list({ prefix, limit: 1 })
    if (key !== undefined) return key.slice(prefix.length)
    throw approvalNotFound('No question waits for this answer')
  }

  /** Ids of the runs that have open approvals, and of those of programs that wait for a tool of the program. */
  async listWaiting(): Promise<string[]> {
    const [approvals, alone] = await Promise.all(
      [OPEN, WAITING].map((prefix) => this.#records.list({ prefix, limit: MAX_WAITING })),
    )
    const asked = (approvals ?? []).map((key) => runIdOf(key.slice(OPEN.length)))
    return [...new Set([...asked, ...(alone ?? []).map((key) => key.slice(WAITING.length))])]
  }

  /** Approvals of one run, in the order of its calls. */
  async ofRun(runId: string): Promise<StoredApproval[]> {
    const entries = await this.#records.entries({ prefix: prefixOfRun(runId), limit: MAX_PER_RUN })
    return entries.map(([key, text]) => parseApproval(key.slice(APPROVALS.length), text))
  }

  /** Keys of all records of the approvals of a run, those that cannot be read included. */
  async keysOfRun(runId: string): Promise<string[]> {
    const entries = await this.#records.entries({ prefix: prefixOfRun(runId), limit: MAX_PER_RUN })
    return entries.flatMap(([key, text]) => keysOf(key.slice(APPROVALS.length), text))
  }

  /**
   * A page of approvals; those that wait for a decision alone, or all. Rows are read a few at a time until the page is long enough.
   *
   * @param unreadable takes those that are left out
   */
  async list(
    {
      onlyOpen,
      limit,
      order,
      after,
    }: {
      readonly onlyOpen: boolean
      readonly limit: number
      readonly order: 'asc' | 'desc'
      readonly after: string | undefined
    },
    unreadable: UnreadableRows,
  ): Promise<{ approvals: StoredApproval[]; hasMore: boolean }> {
    const prefix = onlyOpen ? OPEN : APPROVALS
    const bound = after === undefined ? {} : { [order === 'asc' ? 'after' : 'before']: prefix + after }
    const keys = await this.#records.list({ prefix, order, limit: limit + 1, ...bound })
    const ids = keys.slice(0, limit).map((key) => key.slice(prefix.length))
    const approvals: StoredApproval[] = []
    let left = MAX_PAGE_LENGTH
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const some = ids.slice(at, at + READ_AT_ONCE)
      const texts = await this.#records.get(some.map((id) => APPROVALS + id))
      for (const [index, id] of some.entries()) {
        const text = texts[index]
        const approval = text === undefined ? undefined : await unreadable.read(() => parseApproval(id, text))
        left -= text?.length ?? 0
        if (left < 0 && approvals.length > 0) return { approvals, hasMore: true }
        if (approval) approvals.push(approval)
      }
    }
    const hasMore = keys.length > limit
    // Clients would take a page without entries for the last one.
    if (approvals.length === 0 && hasMore) return this.list({ onlyOpen, limit, order, after: ids.at(-1) }, unreadable)
    return { approvals, hasMore }
  }

  /**
   * Commits changes that may open or close approvals.
   *
   * @param notify further topics
   * @returns false when another was quicker
   */
  commit({ changes, ...guards }: GuardedChanges, notify: readonly string[] = []): Promise<boolean> {
    const decided = this.#outbox?.ofDecisions(changes, guards.equal) ?? []
    const all = decided.length > 0 ? [...changes, ...decided] : changes
    return this.#records.commit(all, guards, [...notify, ...topicsOfCommit(all, this.#tenant)])
  }
}

/** Error of calls that do not wait, or no longer. */
export function approvalNotFound(message = 'Approval not found'): HostError {
  return new HostError('APPROVAL_NOT_FOUND', message)
}

/** Tells whether a tenant has approvals that wait for a decision. */
export async function hasOpenApprovals(records: RecordStore): Promise<boolean> {
  return (await records.list({ prefix: OPEN, limit: 1 })).length > 0
}

/** Approval that was to be decided until now. */
export interface ExpiredApproval extends TenantItem {
  /** Of its entry in the index of the whole store. */
  readonly key: string
}

/**
 * Lists the approvals of all tenants that were to be decided until now, in the order of their times.
 *
 * @param records of the whole store
 */
export async function listExpired(
  records: RecordStore,
  after: string | undefined,
): Promise<{ expired: ExpiredApproval[]; next?: string }> {
  const prefix = EXPIRING_APPROVALS
  const before = `${prefix}${toSortable(nowSeconds() + 1)}`
  const keys = await records.list({ prefix, before, limit: PAGE, after })
  const next = keys.length < PAGE ? undefined : keys.at(-1)
  const expired = keys.map((key) => ({ key, ...parseIndexKey(key.slice(0, key.lastIndexOf(':') + 1), key) }))
  return { expired, next }
}

/** Claim that brings approvals from one state into another; all of them must still be in the first. */
export function claimOf(before: readonly StoredApproval[], after: readonly StoredApproval[]): Claim {
  const changes = after.flatMap((approval, index): Change[] => {
    const old = before[index]
    if (!old || approval === old) return []
    const open = approval.status === 'pending' ? 'null' : undefined
    const indexed = approval.status === old.status ? [] : openKeysOf(approval).map((key): Change => [key, open])
    return [[APPROVALS + approval.id, JSON.stringify(approval)], ...indexed]
  })
  return { changes, equal: before.map((approval) => [APPROVALS + approval.id, JSON.stringify(approval)]) }
}

/** Closes the approvals that are open. */
export function closeOpen(approvals: readonly StoredApproval[], status: ApprovalStatus): StoredApproval[] {
  return approvals.map((approval) => (approval.status === 'pending' ? { ...approval, status } : approval))
}

function keysOf(id: string, text: string): string[] {
  try {
    return [APPROVALS + id, ...openKeysOf(parseApproval(id, text))]
  } catch (error) {
    if (!isUnreadable(error)) throw error
    // When it expires is not known: that entry goes when it is due.
    return [APPROVALS + id, OPEN + id]
  }
}

function prefixOfRun(runId: string): string {
  return APPROVALS + approvalId(runId, 0).slice(0, -3)
}

function parseApproval(id: string, text: string): StoredApproval {
  const shape = { runId: 'string', agent: 'string', pending: 'object', createdAt: 'number', status: 'string' } as const
  return parseRow<StoredApproval>(id, text, shape)
}

function isApprovalId(text: string): boolean {
  return /^mcpr_[0-9a-f-]{40}$/.test(text)
}
