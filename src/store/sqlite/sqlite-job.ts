import type { KeyBounds } from '../key-bounds.ts'

/** Job whose caller waits until then: it is not run later. */
interface Due {
  /** By `monotonicMs()`. */
  readonly dueMs: number
}

/** Request to the thread that holds the database. Keys and values are texts, values without what Keyv writes around them; one of null removes. */
export type SqliteJob =
  | ({ readonly kind: 'get'; readonly keys: readonly string[] } & Due)
  | ({ readonly kind: 'list' | 'entries' } & KeyBounds & Due)
  | ({
      readonly kind: 'commit'
      /** Key, value, key, value: one flat array is cheaper to send than many small ones. */
      readonly changes: readonly (string | null)[]
      readonly present: readonly string[]
      /** From (inclusive), to (exclusive), from, to. */
      readonly absent: readonly string[]
      /** Key, value, key, value. */
      readonly equal: readonly string[]
    } & Due)
  | { readonly kind: 'beat'; readonly serverId: string; readonly process: string; readonly silent: readonly string[] }
  | { readonly kind: 'sighting'; readonly serverId: string }
  /** Starts or stops notifications about commits of other processes. */
  | { readonly kind: 'watch'; readonly isOn: boolean }
  | { readonly kind: 'purge' }
  /** Those of all servers that have not closed the store. */
  | { readonly kind: 'sightings' }
  | { readonly kind: 'quick-check' }
  | { readonly kind: 'backup'; readonly file: string }
  | { readonly kind: 'close'; readonly serverId: string }

export type SqliteAnswer = { readonly value: unknown } | { readonly error: string; readonly code: string }

/** Start data of the thread. */
export interface SqliteWorkerData {
  /** Absolute path of the database file. */
  readonly file: string
  /** Of the file: another one is not opened. */
  readonly inode?: number
  /** Only returns the missing steps of the layout. */
  readonly isDryRun?: boolean
}
