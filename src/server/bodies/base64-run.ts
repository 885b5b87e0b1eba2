/** Room for a last group, which is shorter than three bytes. */
const LAST_GROUP = 2

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const IS_BASE64 = Uint8Array.from({ length: 256 }, (_, code) => Number(ALPHABET.includes(String.fromCharCode(code))))

/** Returns the index of the first byte from `start` on that is no character of base64 (RFC 4648, section 4; padding is none). */
export function endOfBase64(chunk: Uint8Array, start: number): number {
  let end = start
  while (end < chunk.length && IS_BASE64[chunk[end] as number] === 1) end++
  return end
}

/** Base64 that arrives in pieces, decoded as it comes. */
export class Base64Run {
  #bytes: Buffer
  #length = 0
  /** Characters after the last whole group of four. */
  #rest = ''

  /** @param scratch holds the first bytes; a run that has filled it has memory of its own */
  constructor(scratch: Buffer) {
    this.#bytes = scratch
  }

  /** Number of bytes so far. */
  get length(): number {
    return this.#length
  }

  /** Characters that are not decoded: fewer than four. */
  get rest(): string {
    return this.#rest
  }

  /**
   * Adds characters of base64.
   *
   * @param expected number of characters that may follow; undefined when it is not known
   */
  add(chunk: Buffer, start: number, end: number, expected: number | undefined): void {
    const fill = this.#rest === '' ? start : Math.min(end, start + 4 - this.#rest.length)
    this.#rest += chunk.toString('latin1', start, fill)
    if (this.#rest.length === 4) {
      this.#decode(this.#rest, expected)
      this.#rest = ''
    }
    const whole = fill + Math.floor((end - fill) / 4) * 4
    this.#decode(chunk.toString('latin1', fill, whole), expected)
    this.#rest += chunk.toString('latin1', whole, end)
  }

  /** Returns the bytes with those of a last group; undefined when that is not as an encoder writes it. */
  end(group: string): Buffer | undefined {
    const last = Buffer.from(group, 'base64')
    if (last.length > LAST_GROUP || last.toString('base64') !== group) return undefined
    last.copy(this.#bytes, this.#length)
    return this.#bytes.subarray(0, this.#length + last.length)
  }

  /** Returns the base64 of the whole groups. */
  encode(): string {
    return this.#bytes.toString('base64', 0, this.#length)
  }

  #decode(text: string, expected: number | undefined): void {
    const needed = this.#length + (text.length / 4) * 3 + LAST_GROUP
    if (needed > this.#bytes.length) this.#grow(needed, expected)
    this.#length += this.#bytes.write(text, this.#length, 'base64')
  }

  /** Makes room for all that may come, at once where that is known: the system gives no memory for what is not written. */
  #grow(needed: number, expected: number | undefined): void {
    const room = expected === undefined ? 2 * this.#bytes.length : Math.ceil((expected * 3) / 4)
    const bytes = Buffer.allocUnsafeSlow(needed + room)
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}
