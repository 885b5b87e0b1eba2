import type { EventsPage, EventsQuery } from './run-index/trace-query.ts'

/** Runs that other servers report. Never fails: unavailable data is omitted. */
export interface RemoteRuns {
  /** Updates the index with the runs that other servers published. */
  refresh(): Promise<void>
  /** Resolves when the runs that were read before are published here, and there: they may be deleted by now. */
  settled(): Promise<unknown>
  /** Keeps it there. Returns a function that ends it. */
  follow(): () => void
  /**
   * Events of a run, from the server that has them.
   *
   * @returns beside them, in words, where they are when that server does not give them
   */
  events(server: string, query: EventsQuery): Promise<EventsPage & { readonly elsewhere: string | null }>
  /** Tape of a run of another server. */
  tape(server: string, runId: string): RemoteTape
}

/** Tape that another server has, or not. */
export interface RemoteTape {
  /** False also for a server that does not answer. */
  exists(): Promise<boolean>
  /**
   * Bytes of its file in pieces; none where it does not exist.
   *
   * @throws HostError `STORE_UNAVAILABLE` when the server does not give the rest
   */
  read(): AsyncGenerator<Uint8Array>
}
