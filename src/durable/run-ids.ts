import { randomUUID } from 'node:crypto'

/**
 * Ids that grow with time: a prefix and a UUID of version 7 (RFC 9562, section 5.7), whose 12 bits after the version count
 * within a millisecond, and whose last 20 bits are zero: ids of its parts have their number there.
 */
export class RunIds {
  readonly #prefix: string
  readonly #pattern: RegExp
  #ms = 0
  #count = 0

  constructor(prefix: string) {
    this.#prefix = prefix
    this.#pattern = new RegExp(`^${prefix}[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
  }

  next(nowMs = Date.now()): string {
    if (nowMs > this.#ms) {
      this.#ms = nowMs
      this.#count = 0
    } else if (++this.#count > 0xfff) {
      this.#ms++
      this.#count = 0
    }
    return `${this.#prefix}${timeOf(this.#ms)}-7${hex(this.#count, 3)}-${randomUUID().slice(19, 31)}00000`
  }

  /** Precedes every id of this time or later. */
  firstAt(ms: number): string {
    return `${this.#prefix}${timeOf(ms)}-7`
  }

  isId(text: string): boolean {
    return this.#pattern.test(text)
  }

  uuidOf(id: string): string {
    return id.slice(this.#prefix.length)
  }
}

function timeOf(ms: number): string {
  const time = hex(ms, 12)
  return `${time.slice(0, 8)}-${time.slice(8)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
