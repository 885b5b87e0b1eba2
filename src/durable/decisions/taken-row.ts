import type { RunHandle, RunResult, Turn } from '../../run/turn.ts'
import type { Change, Entry, RecordStore } from '../../store/record-store.ts'

/** Row of a run that waits by itself, without approvals in the inbox. */
export interface WaitingRow {
  /** Server that goes on with the run; null until one does. */
  readonly resumedBy: string | null
}

const RETRY_MS = 1000
/** For as long as a disk stays full, or a server away, before people look. */
const MAX_ATTEMPTS = 3600

/** Waiting run that one caller goes on with. */
export interface Taken {
  /** Forgets it: a call may begin, or the run has ended. */
  spend(): Promise<void>
  /** Has it wait again; nothing once it is spent. */
  giveBack(): Promise<void>
}

/**
 * Returns a way to start the run that goes on: what it took is spent before its first call begins, and given back when the run fails
 * before that. One that cannot be spent fails.
 *
 * @param onEnd called with the result before it is given out
 */
export function startTaken(
  taken: Taken,
  start: (turn: Turn) => RunHandle,
  onEnd: (result: RunResult) => Promise<void> = async () => {},
): (turn: Turn) => RunHandle {
  return ({ onEvent, ...turn }) => {
    let unspent: unknown
    let spending: Promise<void> | undefined
    const spend = async () => {
      try {
        // Once for calls that begin together.
        spending ??= taken.spend()
        await spending
      } catch (error) {
        // An agent may take the failure of a call for its result, and go on without it.
        unspent ??= error
        handle.abort(error)
        throw error
      }
    }
    const settle = async (): Promise<RunResult> => {
      try {
        const result = await handle.result
        await onEnd(result)
        // Nothing of it has begun that could run twice; it is forgotten with this server.
        await taken.spend().catch(() => {})
        return result
      } catch (error) {
        await taken.giveBack().catch(() => {})
        throw unspent ?? error
      }
    }
    // The sink gets a call before the row is spent, so that code which ends the run at that moment knows that the call may begin.
    const handle = start({
      ...turn,
      onEvent: async (event) =>
        void (await Promise.all([onEvent?.(event), event.type === 'tool_call' ? spend() : undefined])),
    })
    return { id: handle.id, result: settle(), abort: (reason) => handle.abort(reason) }
  }
}

/**
 * Row that one caller goes on with. It is spent before the first call of its run begins, and given back when the run fails before that;
 * where the server dies before that, another one may take it.
 */
export class TakenRow implements Taken {
  readonly #records: RecordStore
  readonly #before: Entry
  readonly #now: Entry
  readonly #further: readonly Change[]
  #isSpent = false

  private constructor(records: RecordStore, before: Entry, now: Entry, further: readonly Change[]) {
    this.#records = records
    this.#before = before
    this.#now = now
    this.#further = further
  }

  /**
   * Takes a row, once everything that may refuse its run has been asked.
   *
   * @param entry the row as it was read
   * @param further records that are removed with it
   * @returns undefined when another goes on with it
   */
  static async take(
    records: RecordStore,
    entry: Entry,
    row: WaitingRow,
    further: readonly Change[] = [],
  ): Promise<TakenRow | undefined> {
    const { resumedBy } = row
    if (resumedBy === records.serverId) return undefined
    if (resumedBy !== null && (await records.isServerAlive(resumedBy))) return undefined
    const now = [entry[0], JSON.stringify({ ...row, resumedBy: records.serverId })] as const
    return (await records.commit([now], { equal: [entry] })) ? new TakenRow(records, entry, now, further) : undefined
  }

  /**
   * Removes the row.
   *
   * @throws Error when another goes on with it: this server was taken for dead
   */
  async spend(): Promise<void> {
    if (this.#isSpent) return
    const removed: Change[] = [[this.#now[0], undefined], ...this.#further]
    if (!(await this.#records.commit(removed, { equal: [this.#now] }))) {
      throw new Error('Another server goes on with the run.')
    }
    this.#isSpent = true
  }

  /** Tries again for some time where the store fails: until this server ends, no other takes the row. */
  async giveBack(attempts = MAX_ATTEMPTS): Promise<void> {
    if (this.#isSpent) return
    try {
      await this.#records.commit([this.#before], { equal: [this.#now] })
    } catch (error) {
      const again = () => void this.giveBack(attempts - 1).catch(() => {})
      if (attempts > 1) setTimeout(again, RETRY_MS).unref()
      throw error
    }
  }
}
