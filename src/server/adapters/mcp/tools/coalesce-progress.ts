/** Takes progress. A promise asks to wait with the next. */
export type ProgressSink = (message: string) => void | Promise<void>

/**
 * Tells of progress as fast as it is taken: while the client is behind, only the latest message waits, and the ones before it
 * are left out. A client that has left, or does not read, is no failure of the agent.
 */
export function coalesceProgress(sink: ProgressSink): (message: string) => void {
  let isBehind = false
  let latest: string | undefined
  const tell = async (): Promise<void> => {
    isBehind = true
    while (latest !== undefined) {
      const message = latest
      latest = undefined
      try {
        await sink(message)
      } catch {
        // Lost progress does no harm: the answer does not depend on it.
      }
    }
    isBehind = false
  }
  return (message) => {
    latest = message
    if (!isBehind) void tell()
  }
}
