export interface Match {
  readonly id: string
  readonly score: number
}

/** Vectors of one length, one after the other in one array of numbers: searching them all is a single pass. */
export class FlatVectors {
  readonly #ids: string[] = []
  readonly #rows = new Map<string, number>()
  #length = 0
  #numbers = new Float32Array(0)

  ids(): IterableIterator<string> {
    return this.#rows.keys()
  }

  /**
   * @throws Error when its length is not that of the others
   */
  check(vector: Float32Array): void {
    if (vector.length === 0 || !vector.every(Number.isFinite)) throw new Error('A vector must be finite numbers.')
    if (this.#ids.length === 0 || vector.length === this.#length) return
    throw new Error(
      `The index holds vectors of ${this.#length} numbers, and this one has ${vector.length}: they come from different embedders. Give the memory and the index new ids in the agent, and store the texts again.`,
    )
  }

  set(id: string, vector: Float32Array): void {
    this.check(vector)
    if (this.#ids.length === 0) this.#length = vector.length
    let row = this.#rows.get(id)
    if (row === undefined) {
      row = this.#ids.push(id) - 1
      this.#rows.set(id, row)
      this.#makeRoom()
    }
    this.#numbers.set(normalize(vector), row * this.#length)
  }

  delete(id: string): boolean {
    const row = this.#rows.get(id)
    if (row === undefined) return false
    // The last one takes its place.
    const lastId = this.#ids.pop() as string
    const last = this.#ids.length
    this.#rows.delete(id)
    if (lastId === id) return true
    this.#numbers.copyWithin(row * this.#length, last * this.#length, (last + 1) * this.#length)
    this.#ids[row] = lastId
    this.#rows.set(lastId, row)
    return true
  }

  /** Nearest first. */
  search(vector: Float32Array, limit: number): Match[] {
    if (this.#ids.length === 0 || !(limit >= 1)) return []
    this.check(vector)
    const scores = this.#scores(normalize(vector))
    const rows = limit < 100 ? best(scores, Math.floor(limit)) : sorted(scores).slice(0, limit)
    return Array.from(rows, (row) => ({ id: this.#ids[row] as string, score: scores[row] as number }))
  }

  /** The loop that everything waits for: four sums, because one would have each addition wait for the one before. */
  #scores(query: Float32Array): Float32Array {
    const numbers = this.#numbers
    const length = this.#length
    const scores = new Float32Array(this.#ids.length)
    const tail = length - (length % 4)
    for (let row = 0, at = 0; row < scores.length; row++, at += length) {
      let a = 0
      let b = 0
      let c = 0
      let d = 0
      for (let i = 0; i < tail; i += 4) {
        a += (query[i] as number) * (numbers[at + i] as number)
        b += (query[i + 1] as number) * (numbers[at + i + 1] as number)
        c += (query[i + 2] as number) * (numbers[at + i + 2] as number)
        d += (query[i + 3] as number) * (numbers[at + i + 3] as number)
      }
      for (let i = tail; i < length; i++) a += (query[i] as number) * (numbers[at + i] as number)
      scores[row] = a + b + c + d
    }
    return scores
  }

  #makeRoom(): void {
    const needed = this.#ids.length * this.#length
    if (needed <= this.#numbers.length) return
    const larger = new Float32Array(Math.max(needed, this.#numbers.length * 2, 64 * this.#length))
    larger.set(this.#numbers)
    this.#numbers = larger
  }
}

/** To the length 1, so that a product is a cosine. What points nowhere stays so, and is near to nothing. */
function normalize(vector: Float32Array): Float32Array {
  let squares = 0
  for (const number of vector) squares += number * number
  const length = Math.sqrt(squares)
  return length === 0 ? vector : vector.map((number) => number / length)
}

/** The rows of the `count` highest scores. Few enough to be kept in order by hand. */
function best(scores: Float32Array, count: number): number[] {
  const rows: number[] = []
  let lowest = Number.NEGATIVE_INFINITY
  for (let row = 0; row < scores.length; row++) {
    const score = scores[row] as number
    if (rows.length === count && score <= lowest) continue
    if (rows.length === count) rows.pop()
    let place = rows.length
    while (place > 0 && (scores[rows[place - 1] as number] as number) < score) place--
    rows.splice(place, 0, row)
    lowest = scores[rows.at(-1) as number] as number
  }
  return rows
}

function sorted(scores: Float32Array): Uint32Array {
  return Uint32Array.from(scores.keys()).sort((a, b) => (scores[b] as number) - (scores[a] as number))
}
