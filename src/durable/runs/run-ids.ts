import { randomUUID } from 'node:crypto'

/** Prefix of the ids of stored runs: the first API that had them calls them responses. */
export const RUN_PREFIX = 'resp_'

/**
 * Ids that grow with time: a prefix and a UUID of version 7 (RFC 9562, section 5.7), whose 12 bits after the version count
 * within a millisecond, and whose last 20 bits are zero: ids of its parts have their number there.
 */
export class RunIds {
  readonly #prefix: string
  readonly #pattern: RegExp
  #ms = 0
  #count = 0
  /** Part of the ids of this millisecond. */
  #time = ''

  constructor(prefix: string) {
    this.#prefix = prefix
    this.#pattern = new RegExp(`^${prefix}[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
  }

  next(nowMs = Date.now()): string {
    if (nowMs > this.#ms) this.#begin(nowMs)
    else if (++this.#count > 0xfff) this.#begin(this.#ms + 1)
    return `${this.#time}${hex(this.#count, 3)}-${randomUUID().slice(19, 31)}00000`
  }

  #begin(ms: number): void {
    this.#ms = ms
    this.#count = 0
    this.#time = this.firstAt(ms)
  }

  /** Precedes every id of this time or later. */
  firstAt(ms: number): string {
    return `${this.#prefix}${timeOf(ms)}-7`
  }

  isId(text: string): boolean {
    return this.#pattern.test(text)
  }
}

/** Returns the time in an id, in Unix seconds. */
export function secondsOf(id: string): number {
  return Math.floor(Number.parseInt(uuidOf(id).slice(0, 13).replace('-', ''), 16) / 1000)
}

/** Returns an id without its prefix. */
export function uuidOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

function timeOf(ms: number): string {
  const time = hex(ms, 12)
  return `${time.slice(0, 8)}-${time.slice(8)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
