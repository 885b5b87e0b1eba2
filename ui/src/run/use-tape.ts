import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import type { RunSummary } from '../types.ts'

const QUERY = 'query($id: String!) { run(run_id: $id) { has_tape } }'
/** A tape is written a moment after the end of its run. */
const WAITS_MS = [0, 300, 1500]

/** Tells whether the server has the tape of a run; false while the run goes on. */
export function useTape({ run_id: id, status }: RunSummary): boolean {
  const [hasTape, setHasTape] = useState(false)
  useEffect(() => {
    setHasTape(false)
    if (status === 'running') return
    const leave = new AbortController()
    void findTape(id, leave.signal).then((found) => leave.signal.aborted || setHasTape(found))
    return () => leave.abort()
  }, [id, status])
  return hasTape
}

async function findTape(id: string, signal: AbortSignal): Promise<boolean> {
  for (const waitMs of WAITS_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (signal.aborted) return false
    const { run } = await ask<{ run: { has_tape: boolean } | null }>(QUERY, { id }, signal).catch(() => ({ run: null }))
    if (run?.has_tape) return true
  }
  return false
}
