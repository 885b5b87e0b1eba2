import { messageOf } from '../../../errors.ts'
import type { Log } from '../../../protocols/log.ts'
import type { RecordStore } from '../../../store/record-store.ts'
import type { IdempotentRequests } from './idempotency.ts'
import { firstIdAt } from './ids.ts'
import type { EndStep } from './output.ts'
import type { ResponseRun } from './response-run.ts'
import { RESPONSES, type ResponseStore, RUNNING, runningKey } from './response-store.ts'

export interface UpkeepOptions {
  readonly store: ResponseStore
  readonly requests: IdempotentRequests
  /** What runs in this process, by id. */
  readonly runs: ReadonlyMap<string, ResponseRun>
  readonly retentionDays: number | undefined
  readonly log: Log
}

const TICK_MS = 1000
/** In ticks. */
const RECOVER_EVERY = 10
const CLEAN_EVERY = 3600
const DAY_MS = 24 * 60 * 60 * 1000
/** How many responses are worked on at once. */
const CONCURRENCY = 20

/** What has to be looked after while nobody asks: what was left behind, cancelled elsewhere, not stored, or is too old. */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #unended = new Map<string, EndStep>()
  #timer: NodeJS.Timeout | undefined
  #ticks = 0
  #isWorking = false
  #working: Promise<void> = Promise.resolve()

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /** Ends what a server that has died left behind, and looks after the rest from now on. */
  async start(): Promise<void> {
    await this.recover()
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
    this.#working = this.#clean().catch((error) => this.#report(error))
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#working
  }

  /** Ends a response as soon as the store can be written again. */
  endLater(id: string, end: EndStep): void {
    this.#unended.set(id, end)
  }

  /** Responses whose server has died are not running, whatever their records say. */
  async recover(): Promise<void> {
    const { records } = this.#options.store
    const ids = await listIds(records, RUNNING)
    const owners = await records.get(ids.map(runningKey))
    const alive = new Map<string, Promise<boolean>>()
    const isAlive = (server: string) => {
      const known = alive.get(server) ?? records.isServerAlive(server)
      alive.set(server, known)
      return known
    }
    const orphans: string[] = []
    for (const [index, id] of ids.entries()) {
      const owner = owners[index]
      if (owner !== undefined && !(await isAlive((JSON.parse(owner) as { server: string }).server))) orphans.push(id)
    }
    await forEachConcurrent(orphans, (id) => this.#fail(id))
    if (orphans.length > 0) this.#options.log.warn(`${orphans.length} responses were cut off: they have failed now.`)
  }

  async #fail(id: string): Promise<void> {
    const { store } = this.#options
    const error = 'The server restarted before the response was complete'
    const record = await store.end(id, { end: 'failed', at: Math.floor(Date.now() / 1000), error })
    // Only its mark was stored, or removed.
    if (!record) await store.records.commit([[runningKey(id), undefined]])
  }

  /** Does not begin again before it is through: while the store cannot be reached, everything takes long. */
  #tick(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    const ticks = ++this.#ticks
    this.#working = this.#working
      .then(() => this.#work(ticks))
      .catch((error) => this.#report(error))
      .finally(() => {
        this.#isWorking = false
      })
  }

  async #work(ticks: number): Promise<void> {
    await this.#endUnended()
    await this.#adoptStoredOutcome()
    if (ticks % RECOVER_EVERY === 0) await this.recover()
    if (ticks % CLEAN_EVERY === 0) await this.#clean()
  }

  async #endUnended(): Promise<void> {
    for (const [id, end] of this.#unended) {
      await this.#options.store.end(id, end)
      this.#unended.delete(id)
    }
  }

  /** Another server may have cancelled or deleted what runs here. */
  async #adoptStoredOutcome(): Promise<void> {
    const runs = [...this.#options.runs.values()].filter(({ isStored }) => isStored)
    if (runs.length === 0) return
    const marks = await this.#options.store.records.get(runs.map(({ id }) => runningKey(id)))
    for (const [index, run] of runs.entries()) if (marks[index] === undefined) await run.adoptStoredOutcome()
  }

  async #clean(): Promise<void> {
    const { store, requests, retentionDays } = this.#options
    await requests.expire()
    if (retentionDays === undefined) return
    const before = RESPONSES + firstIdAt(Date.now() - retentionDays * DAY_MS)
    for (;;) {
      const old = await listIds(store.records, RESPONSES, { before, limit: 100 })
      if (old.length === 0) return
      for (const id of old) await store.delete(id)
    }
  }

  #report(error: unknown): void {
    this.#options.log.error(`The stored responses could not be looked after: ${messageOf(error)}`)
  }
}

async function listIds(
  records: RecordStore,
  prefix: string,
  { limit = 1_000_000, ...range }: { before?: string; limit?: number } = {},
): Promise<string[]> {
  const keys = await records.list({ prefix, limit, ...range })
  return keys.map((key) => key.slice(prefix.length))
}

async function forEachConcurrent<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const lane = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
}
