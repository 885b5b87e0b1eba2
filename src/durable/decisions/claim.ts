import type { Change, Entry } from '../../store/record-store.ts'

/** Changes that are committed together with the row of a run, and the records that must be as they were. Nothing is written yet. */
export interface Claim {
  readonly changes: readonly Change[]
  readonly equal: readonly Entry[]
  /** Keys of records that must not exist. */
  readonly absent?: readonly string[]
}

/** Both claims as one. */
export function joinClaims(one: Claim | undefined, other: Claim | undefined): Claim | undefined {
  if (!one || !other) return one ?? other
  return {
    changes: [...one.changes, ...other.changes],
    equal: [...one.equal, ...other.equal],
    absent: [...(one.absent ?? []), ...(other.absent ?? [])],
  }
}
