/** Room at first. */
const FIRST_BYTES = 4096
/** Maximum size of a UTF-16 code unit in UTF-8. */
const MAX_BYTES_A_CHAR = 3

/** Lines as bytes that can be handed to a thread without being copied again: kept texts would be copied by each collection of garbage. */
export class LineBytes {
  #bytes: Buffer<ArrayBuffer> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds a line; its newline is added here. @returns its bytes */
  add(line: string): number {
    const bytes = this.#withRoom(line.length * MAX_BYTES_A_CHAR + 1)
    const written = bytes.write(line, this.#size) + 1
    this.#size += written
    bytes[this.#size - 1] = 0x0a
    return written
  }

  /** Everything so far; there is nothing afterwards. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(this.#bytes?.buffer ?? new ArrayBuffer(0), 0, this.#size)
    this.#bytes = undefined
    this.#size = 0
    return taken
  }

  #withRoom(more: number): Buffer<ArrayBuffer> {
    const wanted = this.#size + more
    if (this.#bytes && wanted <= this.#bytes.length) return this.#bytes
    // Not of Node's pool, which cannot be handed over.
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.#size, wanted))
    if (this.#bytes) larger.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = larger
    return larger
  }
}
