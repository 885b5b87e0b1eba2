import { onAbort } from '../async.ts'
import type { RunHandle, RunResult } from '../run/turn.ts'

/** Waits for the end of a run; it is aborted with the signal. */
export async function untilEnd(handle: RunHandle, signal: AbortSignal | undefined): Promise<RunResult> {
  if (!signal) return handle.result
  // The agent's code runs only after this turn of the event loop: a signal that was aborted before keeps it from running.
  const forget = onAbort(signal, () => handle.abort(signal.reason))
  try {
    return await handle.result
  } finally {
    forget()
  }
}
