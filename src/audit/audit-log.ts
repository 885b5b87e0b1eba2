import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { HostError, messageOf } from '../errors.ts'
import type { Visit } from '../host/visits.ts'
import { toSortedJson } from '../json.ts'
import type { Log } from '../protocols/log.ts'
import { shorten } from '../shorten.ts'
import type { AuditFile } from './audit-file.ts'

/** Kind of a line. */
export type AuditEvent =
  | 'start'
  | 'refusal'
  | 'run_queued'
  | 'run_begin'
  | 'run_end'
  | 'tool_call'
  | 'decision'
  | 'decision_lost'
  | 'decision_unknown'
  | 'key'
  | 'agent'
  | 'gap'

/** Facts of a line beside its time. Names and ids alone, no content; what is not known is left out. */
export interface AuditFacts {
  readonly event: AuditEvent
  readonly request_id?: string | undefined
  readonly address?: string | undefined
  /** Name of a key, or `jwt:<sub>`. */
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly agent?: string | undefined
  readonly run_id?: string | undefined
  readonly tool?: string | undefined
  /** HMAC of the arguments, see {@link AuditLog.macOf}. */
  readonly arguments?: string | undefined
  readonly [more: string]: string | number | undefined
}

export interface AuditLogOptions {
  readonly file: AuditFile
  readonly log: Log
  /** Name of this server. */
  readonly server: string
  /** Secret that the key of the HMACs is derived from; undefined: a key at random, which ends with this process. */
  readonly secretKey?: string | undefined
}

const MAX_CHARS = 256

/** Lines that say who did what. While none can be written, whatever needs one is refused. */
export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #key: Uint8Array
  /** Since when no line could be written, and how many things had none. */
  #gap: { readonly since: string; missed: number } | undefined

  /** @throws Error of the system where the file cannot be written */
  constructor(options: AuditLogOptions) {
    this.#options = options
    const { secretKey } = options
    this.#key =
      secretKey === undefined
        ? randomBytes(32)
        : new Uint8Array(hkdfSync('sha256', secretKey, '', 'agent-host audit log', 32))
    this.#append({ event: 'start' })
  }

  /**
   * Writes the lines of things that must not happen without, in one piece: one of several that are refused together says nothing alone.
   *
   * @throws HostError `AUDIT_UNAVAILABLE`
   */
  require(...things: readonly AuditFacts[]): void {
    if (this.note(...things)) return
    throw new HostError('AUDIT_UNAVAILABLE', 'The audit log cannot be written: nothing was done', {
      suggestions: [
        `Give ${this.#options.file.path} room, and the rights to write it. /readyz says when it is written again.`,
      ],
    })
  }

  /** Writes the lines of things that happen anyway. @returns false where they cannot be written */
  note(...things: readonly AuditFacts[]): boolean {
    if (things.length === 0) return true
    try {
      this.#endGap()
      this.#append(...things)
      return true
    } catch (error) {
      this.#miss(error, things.length)
      return false
    }
  }

  /** Finds out why calls and decisions are refused at this moment; undefined when they are not. */
  findObstacle(): string | undefined {
    try {
      this.#endGap()
      return undefined
    } catch {
      return 'The audit log cannot be written.'
    }
  }

  /**
   * Returns the HMAC-SHA-256 of a value, in hex: equal for equal JSON, and nothing that the value can be guessed from. Undefined for what is no
   * JSON: modules may pass anything, and a tool that takes it is called with an audit log as without.
   */
  macOf(value: unknown): string | undefined {
    try {
      return createHmac('sha256', this.#key).update(toSortedJson(value)).digest('hex')
    } catch {
      return undefined
    }
  }

  #append(...things: readonly AuditFacts[]): void {
    const { file, server } = this.#options
    const time = new Date().toISOString()
    const lines = things.map((facts) => {
      const short = Object.entries(facts).map(([name, fact]) => [
        name,
        typeof fact === 'string' ? shorten(fact, MAX_CHARS) : fact,
      ])
      return JSON.stringify({ time, server, ...Object.fromEntries(short) })
    })
    file.append(lines.join('\n'))
  }

  /** The first line that can be written again tells what is missing before it. */
  #endGap(): void {
    if (!this.#gap) return
    this.#append({ event: 'gap', ...this.#gap })
    this.#gap = undefined
    this.#options.log.info(`The audit log ${this.#options.file.path} is written again.`)
  }

  #miss(error: unknown, count: number): void {
    const { file, log } = this.#options
    if (!this.#gap)
      log.error(`The audit log ${file.path} cannot be written, so calls and decisions are refused: ${messageOf(error)}`)
    this.#gap ??= { since: new Date().toISOString(), missed: 0 }
    this.#gap.missed += count
  }
}

/** Facts of a line about who asks. */
export function factsOf(visit: Visit | undefined): Pick<AuditFacts, 'request_id' | 'address' | 'key'> {
  return { request_id: visit?.source?.requestId, address: visit?.source?.address, key: visit?.key }
}
