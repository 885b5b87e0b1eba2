import type { WaitingOptions } from '../../host/waiting-run.ts'

/** Part of a run's row that belongs to its adapter: the request, and data that only the adapter reads. */
export interface AdapterFacts {
  /** Name of the adapter that started the run. */
  readonly adapter: string
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Run that this one continues; null for one that begins. */
  readonly previousId: string | null
  readonly options: Omit<WaitingOptions, 'tenant'>
  /** JSON. */
  readonly data: unknown
}

/** Tells the facts of an adapter that names itself from those of the responses adapter: its rows are older than the name. */
export function isAdapterFacts(facts: unknown): facts is AdapterFacts {
  return typeof facts === 'object' && facts !== null && 'adapter' in facts
}
