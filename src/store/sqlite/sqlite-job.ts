/** What the thread that holds the database is asked. Keys and values are texts; a value of null removes. */
export type SqliteJob =
  | { readonly kind: 'get'; readonly keys: readonly string[] }
  | {
      readonly kind: 'list'
      /** Inclusive. */
      readonly from: string
      /** Exclusive. */
      readonly to: string
      readonly order: 'asc' | 'desc'
      readonly limit: number
    }
  | {
      readonly kind: 'commit'
      /** Key, value, key, value: one flat array is cheaper to send than many small ones. */
      readonly changes: readonly (string | null)[]
      readonly present: readonly string[]
      /** From (inclusive), to (exclusive), from, to. */
      readonly absent: readonly string[]
    }
  | { readonly kind: 'clear' }
  | { readonly kind: 'purge' }
  | { readonly kind: 'is-alive'; readonly serverId: string }
  | { readonly kind: 'close' }

export type SqliteAnswer = { readonly value: unknown } | { readonly error: string; readonly code: string }

/** What the thread is started with. */
export interface SqliteWorkerData {
  /** Absolute path of the database file. */
  readonly file: string
  /** Absolute path of the folder in which each server that has the file open holds a lock. */
  readonly serversDir: string
  readonly serverId: string
}
