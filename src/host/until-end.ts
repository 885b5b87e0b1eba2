import type { RunHandle, RunResult } from '../run/turn.ts'

/** Waits for the end of a run; it is aborted with the signal. */
export async function untilEnd(handle: RunHandle, signal: AbortSignal | undefined): Promise<RunResult> {
  if (!signal) return handle.result
  const abort = () => handle.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  // The agent's code runs only after this turn of the event loop: a signal that was aborted before keeps it from running.
  if (signal.aborted) abort()
  try {
    return await handle.result
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
