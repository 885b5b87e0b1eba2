/** Number of runs of the agent `talk`, and of those that were aborted. */
export interface TalkState {
  runs: number
  aborted: number
}

/** Counts of this process. */
export function talkState(): TalkState {
  const globals = globalThis as { talkState?: TalkState }
  globals.talkState ??= { runs: 0, aborted: 0 }
  return globals.talkState
}
