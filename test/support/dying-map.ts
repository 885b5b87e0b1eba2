/** Backend that dies at the n-th write. */
export class DyingMap extends Map<string, unknown> {
  #left: number

  constructor(writes: number) {
    super()
    this.#left = writes
  }

  override set(key: string, value: unknown): this {
    this.#write()
    return super.set(key, value)
  }

  override delete(key: string): boolean {
    this.#write()
    return super.delete(key)
  }

  #write(): void {
    if (this.#left-- <= 0) throw new Error('The backend has died.')
  }
}
