import { hash } from 'node:crypto'
import type { Principal } from './principal.ts'

/** Key that opens a door. */
export interface Key {
  /** SHA-256, in hex. */
  readonly digest: string
  readonly principal: Principal
  /** Names of the adapters that it opens; undefined for all. */
  readonly adapters?: readonly string[] | undefined
  /** Milliseconds since the epoch; undefined for a key that does not expire. */
  readonly expiresAt?: number | undefined
}

/** Returns the SHA-256 of a key, in hex: keys are looked up by it, so no comparison takes longer for a better guess. */
export function digestOf(secret: string): string {
  return hash('sha256', secret)
}
