import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Change, Guards } from './record-store.ts'

/** A commit that waits for its turn. */
export interface PendingCommit {
  readonly changes: readonly Change[]
  readonly guards: Guards
  readonly notify: readonly string[]
}

interface Waiting {
  readonly commit: PendingCommit
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
}

/** The topics of so many fit one notification of PostgreSQL; of more, it would wake every watcher. */
const MAX_GROUP = 128

/** Commits that come while others are under way go together, with the next group. */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  add(commit: PendingCommit): Promise<boolean> {
    return new Promise<boolean>((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject })
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
      await this.#runGroup(this.#take())
    } while (this.#waiting.length > 0)
    this.#running = undefined
  }

  #take(): Waiting[] {
    const candidates = this.#waiting.slice(0, MAX_GROUP)
    const { select } = this.#options
    if (!select) {
      this.#waiting = this.#waiting.slice(MAX_GROUP)
      return candidates
    }
    const chosen = new Set(select(candidates.map(({ commit }) => commit)).flatMap((index) => candidates[index] ?? []))
    this.#waiting = this.#waiting.filter((waiting) => !chosen.has(waiting))
    return [...chosen]
  }

  /** None fails for another's sake. */
  async #runGroup(group: readonly Waiting[]): Promise<void> {
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
