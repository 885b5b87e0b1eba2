import type { Usage } from '../../protocols/run.ts'
import type { RunStatus } from '../../run/run-event.ts'
import type { PendingCall } from '../../run/waiting/pending-call.ts'
import type { JsonValue } from './tape-values.ts'

/** Version of the format. It grows when an older reader would misread a tape. */
export const TAPE_FORMAT = 1

/**
 * A line of a tape. A tape is JSON lines, compressed by gzip: one part for each run, each a head, a turn, calls, and an end.
 * Values are written as `encodeValue` does; `ms` counts from the start of the run.
 */
export type TapeLine = HeadLine | TurnLine | BytesLine | CallLine | PartLine | EffectLine | OutcomeLine | EndLine

/** The agent as it was: the same for all runs of one version. */
export interface HeadLine {
  readonly type: 'head'
  readonly tape: typeof TAPE_FORMAT
  /** Of agent-host. */
  readonly version: string
  readonly agent: {
    readonly id: string
    readonly version: string
    /** Relative to the project; null for an agent that a program registered. */
    readonly file: string | null
    /** As an agent file has it, in JSON; without the values of secret fields. */
    readonly definition: Readonly<Record<string, JsonValue>>
  }
  readonly modules: readonly RecordedModule[]
  /** SHA-256 (hex) of the files of the project that its code consists of, by their paths, relative to the project. */
  readonly files: Readonly<Record<string, string>>
  /** Values of the variables that the definition names, other than secrets. */
  readonly environment: Readonly<Record<string, string>>
}

export interface RecordedModule {
  readonly id: string
  /** The module reference. */
  readonly module: string
  /** Origin: project, ejected, library, package or program. */
  readonly source: string
  /** Those of the files that are its own. */
  readonly files: readonly string[]
}

/** Turn that the run handled. */
export interface TurnLine {
  readonly type: 'turn'
  readonly run_id: string
  readonly tenant: string
  readonly entry_point: string
  /** Unix time in seconds, with fractions. */
  readonly started_at: number
  /** Waiting run that this one continues. */
  readonly continues: string | null
  readonly turn: JsonValue
  /** Modules that had another instance for this run alone. */
  readonly overrides: readonly string[]
}

/** Bytes that other lines name by their hash, before the first of them. */
export interface BytesLine {
  readonly type: 'bytes'
  readonly sha256: string
  readonly base64: string
}

/** A call across a boundary. Lines about it have its number. */
export interface CallLine {
  readonly type: 'call'
  /** From 1 on, in the order of the beginnings. */
  readonly call: number
  /** Call of another boundary within which it was made. */
  readonly within: number | null
  readonly ms: number
  readonly module: string
  /** Module that made it. */
  readonly caller: string
  readonly protocol: string
  readonly method: string
  /** Without the run. */
  readonly arguments: readonly JsonValue[]
  /** Model behind it, where its module names it. */
  readonly model?: JsonValue
}

/** A part of a stream. */
export interface PartLine {
  readonly type: 'part'
  readonly call: number
  readonly ms: number
  readonly value: JsonValue
}

/** Something that the callee did to the run itself. */
export interface EffectLine {
  readonly type: 'effect'
  readonly call: number
  readonly ms: number
  readonly effect: 'usage' | 'incomplete' | 'progress'
  readonly value: JsonValue
}

/** Shape of a result: `value` at once, by a `promise`, or as a `stream`. */
export type ResultShape = 'value' | 'promise' | 'stream'

/** End of a call. Exactly one of `value`, `error` and `waits` is there; a call that its run cut off has no such line. */
export interface OutcomeLine {
  readonly type: 'result'
  readonly call: number
  readonly ms: number
  readonly shape: ResultShape
  /** Null for a stream: its parts stand before. */
  readonly value?: JsonValue
  readonly error?: JsonValue
  /** The calls that the run waits for since. */
  readonly waits?: readonly JsonValue[]
}

/** End of a run; a tape without one was cut off. */
export interface EndLine {
  readonly type: 'end'
  readonly ms: number
  readonly status: RunStatus
  readonly text: string
  readonly attachments: readonly JsonValue[]
  readonly usage: Readonly<Usage> | null
  /** Reason why the answer is not whole. */
  readonly reason: string | null
  readonly error: string | null
  readonly pending: readonly Pick<PendingCall, 'kind' | 'name'>[]
  /** Arguments of the pending calls; left out where there are none, and by earlier versions. */
  readonly pendingArguments?: readonly JsonValue[]
  /** Number of calls. */
  readonly calls: number
  /** Why lines are missing; null for a whole tape. */
  readonly incomplete: string | null
}
