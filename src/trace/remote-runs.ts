import type { EventsPage, EventsQuery } from './trace-query.ts'

/** Runs of other servers, as far as these tell of them. None of it fails: what cannot be known now is left out. */
export interface RemoteRuns {
  /** Brings the index up to what other servers have published. */
  refresh(): Promise<void>
  /** Keeps it there. Returns a function that ends it. */
  follow(): () => void
  /**
   * Events of a run, from the server that has them.
   *
   * @returns beside them, in words, where they are when that server does not give them
   */
  events(server: string, query: EventsQuery): Promise<EventsPage & { readonly elsewhere: string | null }>
}
