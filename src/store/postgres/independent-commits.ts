import type { PendingCommit } from '../group-commit.ts'

/**
 * Returns the indexes of commits that fit in one statement: those that neither read nor write the keys of an earlier one of
 * them, or one that has to wait, writes or reads. The others keep their order.
 */
export function selectIndependent(commits: readonly PendingCommit[]): number[] {
  const before = new TouchedKeys(commits)
  return commits.flatMap((commit, index) => {
    const isFree = before.isIndependent(commit)
    before.add(commit)
    return isFree ? [index] : []
  })
}

/** Keys that some commits write and read. Prefixes have few lengths: beginnings of keys of these lengths are looked up. */
class TouchedKeys {
  readonly #written = new Set<string>()
  readonly #read = new Set<string>()
  readonly #absent = new Set<string>()
  /** Beginnings of written keys. */
  readonly #begun = new Set<string>()
  /** Lengths of the prefixes of all commits. */
  readonly #lengths: readonly number[]

  constructor(commits: readonly PendingCommit[]) {
    const prefixes = commits.flatMap(({ guards: { absent = [] } }) => absent)
    this.#lengths = [...new Set(prefixes.map(({ length }) => length))]
  }

  isIndependent({ changes, guards: { present = [], absent = [], equal = [] } }: PendingCommit): boolean {
    if (changes.some(([key]) => this.#written.has(key) || this.#read.has(key) || this.#isUnderAbsent(key))) return false
    if (present.some((key) => this.#written.has(key)) || equal.some(([key]) => this.#written.has(key))) return false
    return !absent.some((prefix) => this.#begun.has(prefix))
  }

  add({ changes, guards: { present = [], absent = [], equal = [] } }: PendingCommit): void {
    for (const [key] of changes) this.#addWritten(key)
    for (const key of present) this.#read.add(key)
    for (const [key] of equal) this.#read.add(key)
    for (const prefix of absent) this.#absent.add(prefix)
  }

  #addWritten(key: string): void {
    this.#written.add(key)
    for (const length of this.#lengths) this.#begun.add(key.slice(0, length))
  }

  #isUnderAbsent(key: string): boolean {
    return this.#absent.size > 0 && this.#lengths.some((length) => this.#absent.has(key.slice(0, length)))
  }
}
