import { setImmediate as nextTurn } from 'node:timers/promises'
import { DEADLINE_MS } from './checked-store.ts'
import type { Change, Guards } from './record-store.ts'

/** A commit that waits for its turn. */
export interface PendingCommit {
  readonly changes: readonly Change[]
  readonly guards: Guards
  readonly notify: readonly string[]
}

interface Waiting {
  readonly commit: PendingCommit
  readonly sinceMs: number
  readonly resolve: (isDone: boolean) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions {
  /** Makes the commits of a group, in their order. */
  readonly run: (commits: readonly PendingCommit[]) => Promise<readonly boolean[]>
  /** Returns which of the waiting commits can go together, as indexes. Default: all. */
  readonly select?: (waiting: readonly PendingCommit[]) => readonly number[]
  /** Returns true when the failure may be that of one commit of the group. */
  readonly isOfOne?: (error: unknown) => boolean
  /** A clock in ms that never jumps. */
  readonly now?: () => number
}

/** The topics of so many fit one notification of PostgreSQL; of more, it would wake every watcher. */
const MAX_GROUP = 128
/** Characters of a group, unless one commit alone has more: clients make one string of it, which holds the event loop, or is too long. */
const MAX_LENGTH = 1024 * 1024

/** Commits that come while others are under way go together, with the next group. */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #now: () => number
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  add(commit: PendingCommit): Promise<boolean> {
    return new Promise<boolean>((resolve, reject) => {
      this.#waiting.push({ commit, sinceMs: this.#now(), resolve, reject })
      this.#running ??= this.#runAll()
    })
  }

  /** Waits for all that were added. */
  async settle(): Promise<void> {
    await this.#running
  }

  async #runAll(): Promise<void> {
    do {
      // Deferred, so that other commits of this turn of the event loop go along.
      await nextTurn()
      this.#dropOverdue()
      await this.#runGroup(this.#take())
    } while (this.#waiting.length > 0)
    this.#running = undefined
  }

  /** Their callers wait no longer: they must not happen minutes later, and not fill the memory while a server hangs. */
  #dropOverdue(): void {
    const beforeMs = this.#now() - DEADLINE_MS
    while ((this.#waiting[0]?.sinceMs ?? Infinity) < beforeMs) {
      this.#waiting.shift()?.reject(new Error('the commits before it took too long'))
    }
  }

  #take(): Waiting[] {
    const candidates = this.#candidates()
    const { select } = this.#options
    if (!select) {
      this.#waiting = this.#waiting.slice(candidates.length)
      return candidates
    }
    const chosen = new Set(select(candidates.map(({ commit }) => commit)).flatMap((index) => candidates[index] ?? []))
    this.#waiting = this.#waiting.filter((waiting) => !chosen.has(waiting))
    return [...chosen]
  }

  #candidates(): Waiting[] {
    let length = 0
    const end = this.#waiting.findIndex(({ commit }, index) => {
      length += lengthOf(commit)
      return index === MAX_GROUP || (index > 0 && length > MAX_LENGTH)
    })
    return end === -1 ? [...this.#waiting] : this.#waiting.slice(0, end)
  }

  /** None fails for another's sake. */
  async #runGroup(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return
    try {
      const done = await this.#options.run(group.map(({ commit }) => commit))
      for (const [index, { resolve }] of group.entries()) resolve(done[index] ?? false)
    } catch (error) {
      if (group.length > 1 && this.#options.isOfOne?.(error)) {
        for (const one of group) await this.#runGroup([one])
      } else for (const { reject } of group) reject(error)
    }
  }
}

function lengthOf({ changes }: PendingCommit): number {
  let length = 0
  for (const [key, value = ''] of changes) length += key.length + value.length
  return length
}
