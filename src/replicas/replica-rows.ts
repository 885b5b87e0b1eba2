import { fieldsOf, parseJson } from '../json.ts'
import type { Change, RecordStore } from '../store/record-store.ts'
import { wrongFactOf } from '../trace/run-columns.ts'
import type { RunRecord } from '../trace/run-index/run-summary.ts'

/** Server that publishes its runs. */
export interface Replica {
  /** Of its store: a new one each time that it starts. */
  readonly id: string
  readonly name: string
}

const ENTRY_VERSION = 1

/** Entry of the log in which a server publishes its runs: the run as it is by then. */
export interface RunEntry {
  readonly version: number
  /** Unix time in milliseconds, by the server's clock. */
  readonly at: number
  readonly record: RunRecord
}

/** Topic of commits with summaries of runs. */
export const NEWS = 'trace-news'
/** Prefix of the records that name the servers. */
const SERVERS = 'trace-server:'
/** More servers than share a store. */
const MAX_SERVERS = 10_000

export function replicaKey(id: string): string {
  return SERVERS + id
}

/** Change by which a server names itself to the others. */
export function introduction(id: string, name: string): Change {
  return [replicaKey(id), JSON.stringify(name)]
}

/** Name of the log in which a server publishes its runs. */
export function runLog(id: string): string {
  return `trace-runs:${id}`
}

/** Returns the servers that publish their runs, stopped ones included. */
export async function readReplicas(store: RecordStore): Promise<Replica[]> {
  const rows = await store.entries({ prefix: SERVERS, limit: MAX_SERVERS })
  return rows.flatMap(([key, text]) => {
    const name = parseName(text)
    return name === undefined ? [] : [{ id: key.slice(SERVERS.length), name }]
  })
}

/** Reads the name of a server; undefined for one that is damaged. */
function parseName(text: string): string | undefined {
  const name = parseJson(text)
  return typeof name === 'string' ? name : undefined
}

export function makeEntry(record: RunRecord): string {
  return JSON.stringify({ version: ENTRY_VERSION, at: Date.now(), record } satisfies RunEntry)
}

/** Reads an entry; undefined for one that is damaged, or of a newer version. */
export function readEntry(text: string): RunEntry | undefined {
  const entry = parseJson(text) as Partial<RunEntry> | undefined
  return isEntry(entry) ? entry : undefined
}

function isEntry(entry: Partial<RunEntry> | null | undefined): entry is RunEntry {
  const summary = fieldsOf(entry?.record?.summary)
  const isWhole = typeof summary.run_id === 'string' && wrongFactOf(summary) === undefined
  return (entry?.version ?? Infinity) <= ENTRY_VERSION && isWhole
}
