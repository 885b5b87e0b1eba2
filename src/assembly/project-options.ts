import type { LogLevel } from './project-log.ts'

/** The options of a project, complete and checked. */
export interface ProjectOptions {
  /** Absolute. Every relative path belongs to it. */
  readonly projectDir: string
  /** Absolute. */
  readonly agentDir: string
  /** Address at which people reach the server, without a slash at the end. */
  readonly publicUrl?: string | undefined
  /** Absolute: folder of the embedded store. */
  readonly responsesDir: string
  /** Store of responses and records: `sqlite`, in that folder, `postgres://...`, `redis://...`, or `keyv-sqlite:<path>`. */
  readonly store: string
  /** Secret that seals what clients or the store keep; undefined: the store makes one, and keeps it. */
  readonly secretKey?: string | undefined
  /** Absolute: file of a line for each run, call of a tool, decision and refusal; undefined for none. */
  readonly auditLog?: string | undefined
  /** Name of this server among those that share the store. */
  readonly serverName: string
  /** Traces every call into `debug/`. */
  readonly debug: boolean
  /** Maximum size of an agent's trace files in MiB; the oldest are deleted. */
  readonly debugMaxMb: number
  /** Part of the runs of which a tape is recorded in `debug/tapes/`, from 0 to 1. */
  readonly record: number
  readonly logLevel: LogLevel
  readonly maxConcurrentRuns: number
  /** Background runs, beside those. */
  readonly maxBackgroundRuns: number
  /** Background runs that may wait for a slot. */
  readonly maxQueuedRuns: number
  /** BullMQ that distributes queued runs, `redis://...`; undefined: workers poll the store. */
  readonly queue?: string | undefined
  /** Leaves background runs to other processes that share the store. */
  readonly noWorker: boolean
  /** Allows webhooks at addresses that are not public. */
  readonly webhookAllowPrivate: boolean
  /** Days after which stored runs are removed; undefined keeps them. */
  readonly retentionDays?: number | undefined
  /** Messages of one conversation. */
  readonly maxHistoryItems: number
  /** Of one conversation, in MiB. */
  readonly maxHistoryMb: number
  /** Turns of one conversation. */
  readonly maxHistoryTurns: number
  /** Seconds; 0 for no limit. */
  readonly runTimeout: number
  /** Seconds that running work gets to end when the project is closed. */
  readonly drainTimeout: number
}
