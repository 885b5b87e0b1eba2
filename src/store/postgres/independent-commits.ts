import type { PendingCommit } from '../group-commit.ts'

/**
 * Returns the indexes of commits that fit in one statement: those that neither read nor write the keys of an earlier one of
 * them, or one that has to wait, writes or reads. The others keep their order.
 */
export function selectIndependent(commits: readonly PendingCommit[]): number[] {
  const before = new TouchedKeys()
  return commits.flatMap((commit, index) => {
    const isFree = before.isIndependent(commit)
    before.add(commit)
    return isFree ? [index] : []
  })
}

/** Keys that some commits write and read. */
class TouchedKeys {
  readonly #written = new Set<string>()
  readonly #read = new Set<string>()
  readonly #absent: string[] = []

  isIndependent({ changes, guards: { present = [], absent = [], equal = [] } }: PendingCommit): boolean {
    if (changes.some(([key]) => this.#written.has(key) || this.#read.has(key) || this.#isUnderAbsent(key))) return false
    if (present.some((key) => this.#written.has(key)) || equal.some(([key]) => this.#written.has(key))) return false
    return !absent.some((prefix) => this.#hasWrittenUnder(prefix))
  }

  add({ changes, guards: { present = [], absent = [], equal = [] } }: PendingCommit): void {
    for (const [key] of changes) this.#written.add(key)
    for (const key of present) this.#read.add(key)
    for (const [key] of equal) this.#read.add(key)
    this.#absent.push(...absent)
  }

  #isUnderAbsent(key: string): boolean {
    return this.#absent.some((prefix) => key.startsWith(prefix))
  }

  #hasWrittenUnder(prefix: string): boolean {
    for (const key of this.#written) if (key.startsWith(prefix)) return true
    return false
  }
}
