import { useEffect, useState } from 'preact/hooks'
import type { Call } from '../../../../src/trace/calls/call-tree.ts'
import { ask } from '../../api.ts'

const REFRESH_MS = 500
const QUERY = `query($id: String!) { run(run_id: $id) {
  events(first: 5000, module_id: "__response__", method_name: "respondText", event_type: "call") { events { time arguments } }
} }`

interface QueryData {
  readonly run: {
    readonly events: {
      readonly events: readonly {
        readonly time: number
        readonly arguments: { readonly args: readonly unknown[] } | null
      }[]
    }
  } | null
}

/** Text that the agent has sent on since a call of a model began, while that runs; undefined once it has ended. */
export function useLiveText(runId: string, { status, startedAt }: Pick<Call, 'status' | 'startedAt'>) {
  const [text, setText] = useState('')
  const isRunning = status === 'running'
  useEffect(() => {
    if (!isRunning) return
    const leave = new AbortController()
    const read = () =>
      ask<QueryData>(QUERY, { id: runId }, leave.signal).then(
        ({ run }) => {
          const pieces = (run?.events.events ?? []).filter(({ time }) => time >= startedAt)
          setText(pieces.map((piece) => String(piece.arguments?.args[0] ?? '')).join(''))
        },
        // The next one may succeed.
        () => {},
      )
    void read()
    const timer = setInterval(() => void read(), REFRESH_MS)
    return () => {
      clearInterval(timer)
      leave.abort()
    }
  }, [runId, startedAt, isRunning])
  return isRunning ? text : undefined
}
