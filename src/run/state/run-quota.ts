import type { Usage } from '../../protocols/run.ts'

/** Limits of a key or a tenant, by their names in the file of keys. */
export interface Limits {
  readonly requests_per_minute?: number
  readonly concurrent_runs?: number
  /** Of a UTC day. */
  readonly tokens_per_day?: number
  /** US dollars of a UTC day. */
  readonly cost_per_day?: number
}

/** Key or tenant with limits. JSON: a run in the background keeps it. */
export interface LimitHolder {
  readonly tenant: string
  /** Name of the key; left out for the tenant itself. */
  readonly key?: string
  readonly limits: Limits
}

/** Place of a run among those that its sender may have, and what it may spend; its child runs share it. */
export interface RunQuota {
  /** Everyone whose limits hold. */
  readonly holders: readonly LimitHolder[]
  /**
   * Admits a call of a model.
   *
   * @throws LimitReached
   */
  admitCall(): Promise<void>
  /** Counts what a call of a model has used. */
  spend(usage: Partial<Usage>, model: string | undefined): Promise<void>
  /** Gives the place back. @param usage of the whole run: what no model has reported is counted now */
  end(usage: Readonly<Usage>): void
  /** Gives everything back: the run has not begun. */
  giveBack(): void
}
