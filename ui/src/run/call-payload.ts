import { useEffect, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { ask } from '../api.ts'

const QUERY = `query($id: String!, $call: String!) { run(run_id: $id) {
  events(first: 2, call_id: $call) { events { event_type event_name arguments result exception folded_exception } }
} }`

interface PayloadEvent {
  readonly event_type: string
  readonly event_name: string
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
  readonly exception: string | null
  readonly folded_exception: string | null
}

/** Payload of a call. */
export interface CallPayload {
  /** Without the run, which is the same everywhere. */
  readonly args: readonly unknown[]
  /** Undefined while the call runs, and when it failed. */
  readonly result: unknown
  readonly exception: string | null
  /** Without the frames of agent-host and of packages. */
  readonly foldedException: string | null
  /** The module reference. */
  readonly reference: string
}

/**
 * Reads the arguments and result of one call, and again when the call has ended. `payload` is null when its trace is gone, and undefined
 * without a call.
 */
export function useCallPayload(runId: string, call: Call | undefined) {
  const [payload, setPayload] = useState<CallPayload | null>()
  const [error, setError] = useState('')
  useEffect(() => {
    const leave = new AbortController()
    setPayload(undefined)
    setError('')
    if (!call) return
    readPayload(runId, call.id, leave.signal).then(setPayload, (failure: Error) => {
      if (!leave.signal.aborted) setError(failure.message)
    })
    return () => leave.abort()
  }, [runId, call?.id, call?.status])
  return { payload, error }
}

/** @returns null when the events of the call are gone */
async function readPayload(runId: string, callId: string, signal?: AbortSignal): Promise<CallPayload | null> {
  const variables = { id: runId, call: callId }
  const { run } = await ask<{ run: { events: { events: PayloadEvent[] } } | null }>(QUERY, variables, signal)
  const events = run?.events.events ?? []
  const begin = events.find(({ event_type }) => event_type === 'call')
  const end = events.find(({ event_type }) => event_type !== 'call')
  if (!begin) return null
  return {
    args: (begin.arguments?.args ?? []).filter((each) => typeof (each as { run?: unknown } | null)?.run !== 'string'),
    result: end?.event_type === 'result' ? end.result : undefined,
    exception: end?.exception ?? null,
    foldedException: end?.folded_exception ?? null,
    reference: begin.event_name.split('.').slice(0, -3).join('.'),
  }
}
