import { readLogPage } from '../store/record-log.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RunRecord } from '../trace/run-index/run-summary.ts'
import { type Replica, readEntry, readReplicas, runLog } from './replica-rows.ts'

/** Receiver of the runs of other servers. */
export interface RunSink {
  put(records: readonly RunRecord[]): unknown
  /** Called for a server that is gone: none of its runs continues. */
  interrupt(server: string): unknown
  /** Called for entries that are damaged, or of a newer version: they hold up no others. */
  skip(server: string, entries: number): unknown
}

const PAGE = 200
/** Interval for checking on a server that seemed to be gone: it may only have been paused. */
const ASK_AGAIN_MS = 60_000

/** Reads the runs that other servers publish, each entry once. */
export class RunFeed {
  readonly #store: RecordStore
  /** Key of the last entry that was read, by server. */
  readonly #read = new Map<string, string>()
  /** When a server was found to be gone, by its id. */
  readonly #gone = new Map<string, number>()

  constructor(store: RecordStore) {
    this.#store = store
  }

  async readOn(sink: RunSink): Promise<void> {
    const replicas = await readReplicas(this.#store)
    const gone: Replica[] = []
    for (const replica of replicas) {
      if (!this.#isDue(replica)) continue
      // Before its log is read, which then contains everything it published.
      const isAlive = await this.#store.isServerAlive(replica.id)
      if (replica.id !== this.#store.serverId) await this.#readLog(replica, sink)
      if (!isAlive) gone.push(replica)
    }
    for (const replica of gone) this.#gone.set(replica.id, performance.now())
    const alive = new Set(replicas.filter(({ id }) => !this.#gone.has(id)).map(({ name }) => name))
    for (const { name } of gone) if (!alive.has(name)) await sink.interrupt(name)
  }

  #isDue({ id }: Replica): boolean {
    if (performance.now() - (this.#gone.get(id) ?? Number.NEGATIVE_INFINITY) < ASK_AGAIN_MS) return false
    this.#gone.delete(id)
    return true
  }

  async #readLog({ id, name }: Replica, sink: RunSink): Promise<void> {
    for (let count = PAGE; count === PAGE; ) {
      const page = await readLogPage(this.#store, runLog(id), { after: this.#read.get(id), limit: PAGE })
      const records = page.flatMap(([, text]) => readEntry(text)?.record ?? [])
      if (records.length < page.length) sink.skip(name, page.length - records.length)
      await sink.put(
        records.map(({ summary, ...rest }) => {
          // Earlier versions knew no tenants.
          return { ...rest, summary: { ...summary, tenant: summary.tenant ?? '', server: name } }
        }),
      )
      const last = page.at(-1)
      if (last) this.#read.set(id, last[0])
      count = page.length
    }
  }
}

/** Sentence about entries that were skipped. */
export function describeSkipped(server: string, entries: number): string {
  return `${entries} runs of the server '${server}' cannot be read here: it has a newer version, or they are damaged.`
}
