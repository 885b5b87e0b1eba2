import type { EventType } from './event-types.ts'

/** File of a project, in its root. */
export const WEBHOOKS_FILE = 'webhooks.yml'

/** Receiver of events. */
export interface Webhook {
  /** Digest of its address. */
  readonly id: string
  readonly url: URL
  /** Address without what may be secret in it. */
  readonly shown: string
  readonly secrets: readonly string[]
  readonly events: ReadonlySet<EventType>
  /** Undefined for all. */
  readonly agents: readonly string[] | undefined
  /** The nameless one where the file names none. */
  readonly tenants: readonly string[]
}
