import type { RunHandle, RunResult, Turn } from '../../run/turn.ts'

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
 */
export function startTaken(taken: Taken, start: (turn: Turn) => RunHandle): (turn: Turn) => RunHandle {
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
