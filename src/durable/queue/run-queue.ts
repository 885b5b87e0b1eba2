import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { HostError } from '../../errors.ts'
import type { Change, RecordStore } from '../../store/record-store.ts'
import { indexIdOf, parseIndexKey, type TenantItem } from '../../store/tenant-records.ts'
import { undefinedIfDamaged } from '../rows/parse-row.ts'
import { tenantPart } from '../rows/tenant-part.ts'
import type { RunFacts } from '../runs/run-facts.ts'
import {
  changeTopic,
  QUEUE_TOPIC,
  QUEUED,
  queuedKey,
  rowKey,
  runningKey,
  servedAgentKey,
  stepsLog,
} from '../runs/run-keys.ts'
import { parseOwner, parseQueued, type QueuedMark, writeOwner } from '../runs/run-marks.ts'
import { parseRunRow } from '../runs/run-row.ts'

/** Run that waits for a worker. */
export interface QueuedRun extends QueuedMark, TenantItem {
  /** The mark as it stands in the store. */
  readonly text: string
}

/** Run that this server has taken out of the queue. */
export interface ClaimedRun extends TenantItem {
  readonly facts: RunFacts
  readonly mark: string
  /** Counted from 1. */
  readonly attempt: number
}

/** Number of times that a run is begun again after the death of its server. */
const MAX_RETRIES = 3
/** Time for which the size of the queue is taken as known. */
const SIZE_KNOWN_MS = 1000
/** Time that waiting runs get to begin before one more is refused. */
const RECOUNT_AFTER_MS = 50

/**
 * Runs of all tenants that wait in the store, oldest first. Each is claimed by one server: the claim replaces its mark in the queue by that of the
 * owner, in one commit that compares.
 */
export class RunQueue {
  readonly #records: RecordStore
  readonly #maxSize: number
  /** Called when a run of this server waits, or waits again, with its name for {@link RunQueue.find}; set by BullDelivery. */
  onWaiting: (name: string) => void = () => {}
  #size = 0
  #sizeKnownUntilMs = 0
  /** One count at a time for all requests that come while the queue seems to be full. */
  #recounting: Promise<void> | undefined

  /** @param maxSize number of waiting runs above which further ones are refused */
  constructor(records: RecordStore, maxSize: number) {
    this.#records = records
    this.#maxSize = maxSize
  }

  /** Changes that put a run into the queue, to be stored together with it. */
  enqueueChanges(id: string, facts: RunFacts): Change[] {
    return [[queuedKey(id), describeWaiting(facts, 0)]]
  }

  /** @throws HostError `OVERLOADED`. The limit may be exceeded by the requests of one second. */
  async refuseWhenFull(): Promise<void> {
    if (performance.now() > this.#sizeKnownUntilMs) await this.#count()
    // Some of those that were counted may run by now.
    if (this.#size >= this.#maxSize) await this.#recount()
    if (this.#size++ < this.#maxSize) return
    throw new HostError('OVERLOADED', `The queue of background runs is full (limit: ${this.#maxSize}).`)
  }

  #recount(): Promise<void> {
    this.#recounting ??= wait(RECOUNT_AFTER_MS).then(() => {
      this.#recounting = undefined
      return this.#count()
    })
    return this.#recounting
  }

  async #count(): Promise<void> {
    const nowMs = performance.now()
    this.#size = await this.size()
    this.#sizeKnownUntilMs = nowMs + SIZE_KNOWN_MS
  }

  /** Number of waiting runs, counted up to the limit. */
  async size(): Promise<number> {
    return (await this.#records.list({ prefix: QUEUED, limit: this.#maxSize })).length
  }

  /** Time for which the oldest of the waiting runs has waited; 0 when none does. */
  async oldestSeconds(): Promise<number> {
    const [oldest] = await this.waiting(1)
    return oldest ? Math.max(Date.now() - oldest.sinceMs, 0) / 1000 : 0
  }

  /** The oldest of the waiting runs. */
  async waiting(limit: number): Promise<QueuedRun[]> {
    const entries = await this.#records.entries({ prefix: QUEUED, limit })
    return entries.map(([key, text]) => toQueued(key, text))
  }

  /**
   * A run, if it waits at this moment.
   *
   * @param name as `indexIdOf` makes it
   */
  async find(name: string): Promise<QueuedRun | undefined> {
    const key = QUEUED + name
    const [text] = await this.#records.get([key])
    return text === undefined ? undefined : toQueued(key, text)
  }

  /** Calls back when runs may wait. */
  watch(onNotice: () => void): () => void {
    return this.#records.watch([QUEUE_TOPIC], onNotice)
  }

  /**
   * Shows other servers that this one has agents for which runs wait.
   *
   * @param gone agents whose stamps are removed
   */
  async stampAgents(agents: readonly string[], gone: readonly string[]): Promise<void> {
    const stamp = JSON.stringify(randomUUID())
    const removals = gone.map((agent): Change => [servedAgentKey(agent), undefined])
    await this.#records.commit([...agents.map((agent): Change => [servedAgentKey(agent), stamp]), ...removals])
  }

  /** Reads the stamps of agents, each other than the one before. */
  async readStamps(agents: readonly string[]): Promise<(string | undefined)[]> {
    return agents.length === 0 ? [] : this.#records.get(agents.map(servedAgentKey))
  }

  /** Removes a mark without a run: a store without transactions was interrupted. */
  async forget({ tenant, id }: TenantItem): Promise<void> {
    await tenantPart(this.#records, tenant).commit([[queuedKey(id), undefined]], { absent: [rowKey(id)] })
  }

  /**
   * Takes a run out of the queue, for this server.
   *
   * @returns undefined when another was quicker, or it does not wait any more
   */
  async claim({ tenant, id, text, attempts }: QueuedRun, facts: RunFacts): Promise<ClaimedRun | undefined> {
    const own = tenantPart(this.#records, tenant)
    const attempt = attempts + 1
    const mark = writeOwner(this.#records.serverId, attempt)
    const changes: Change[] = [
      [runningKey(id), mark],
      [queuedKey(id), undefined],
    ]
    const isClaimed = await own.commit(changes, { equal: [[queuedKey(id), text]] }, [changeTopic(id)])
    return isClaimed ? { tenant, id, facts, mark, attempt } : undefined
  }

  /**
   * Gives back a run of this server that runs elsewhere. Unless its agent allows more, it must not have said or called anything.
   *
   * @returns false when it must not begin again, or is not this server's any more
   */
  handBack({ facts, mark, attempt, ...run }: ClaimedRun): Promise<boolean> {
    return this.#putBack(run, mark, facts, attempt - 1)
  }

  /**
   * Puts back a run whose owner is gone.
   *
   * @param mark of that owner
   * @returns false if the run must not restart, is no background run, or has another owner
   * @throws HostError `RECORD_UNREADABLE` for a run that a newer version has to carry out
   */
  async retry(run: TenantItem, mark: string): Promise<boolean> {
    const { attempt } = parseOwner(mark)
    if (attempt === 0 || attempt > MAX_RETRIES) return false
    const facts = await this.#readFacts(run).catch(undefinedIfDamaged)
    return facts !== undefined && this.#putBack(run, mark, facts, attempt)
  }

  async #readFacts({ tenant, id }: TenantItem): Promise<RunFacts | undefined> {
    const [text] = await tenantPart(this.#records, tenant).get([rowKey(id)])
    return text === undefined ? undefined : parseRunRow(id, text).facts
  }

  async #putBack({ tenant, id }: TenantItem, mark: string, facts: RunFacts, attempts: number): Promise<boolean> {
    const changes: Change[] = [
      [queuedKey(id), describeWaiting(facts, attempts)],
      [runningKey(id), undefined],
    ]
    const absent = facts.options.isRestartSafe ? [] : [`${stepsLog(id)}:`]
    const guards = { present: [rowKey(id)], absent, equal: [[runningKey(id), mark] as const] }
    const own = tenantPart(this.#records, tenant)
    const isBack = await own.commit(changes, guards, [QUEUE_TOPIC, changeTopic(id)])
    if (isBack) this.onWaiting(indexIdOf({ tenant, id }))
    return isBack
  }
}

function toQueued(key: string, text: string): QueuedRun {
  return { ...parseIndexKey(QUEUED, key), text, ...parseQueued(text) }
}

function describeWaiting({ agent }: RunFacts, attempts: number): string {
  const mark: QueuedMark = { agent, attempts, sinceMs: Date.now() }
  return JSON.stringify(mark)
}
