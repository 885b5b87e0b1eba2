interface Reading<T> {
  readonly done: Promise<T>
  next?: Promise<T>
}

/** Reads of things by id, one at a time of each: those who come during a read share the next one, which has all that was written before. */
export class JoinedReads<T> {
  readonly #read: (id: string) => Promise<T>
  readonly #readings = new Map<string, Reading<T>>()

  constructor(read: (id: string) => Promise<T>) {
    this.#read = read
  }

  get(id: string): Promise<T> {
    const reading = this.#readings.get(id)
    if (!reading) return this.#begin(id)
    const begin = () => this.#begin(id)
    reading.next ??= reading.done.then(begin, begin)
    return reading.next
  }

  #begin(id: string): Promise<T> {
    const done = this.#read(id)
    const reading = { done }
    const end = () => {
      if (this.#readings.get(id) === reading) this.#readings.delete(id)
    }
    this.#readings.set(id, reading)
    done.then(end, end)
    return done
  }
}
