import { useEffect, useRef, useState } from 'preact/hooks'
import { readEventStream } from './read-event-stream.ts'
import { authorization, noteRefusal } from './token.ts'
import type { RunSummary } from './types.ts'

interface LiveEvents {
  /** Runs that have begun, gone on or ended. */
  runs: RunSummary[]
  /** An agent or its file has changed. */
  agents: undefined
  /** Events were lost. */
  tracing: undefined
  /** Reconnected: events in between are missing. */
  ready: undefined
}

const listeners = new Map<keyof LiveEvents, Set<(data: never) => void>>()
/** Ends the connection; undefined while there is none. */
let connection: AbortController | undefined
let isConnected = false
const watchers = new Set<(isConnected: boolean) => void>()
const RETRY_MS = 2000

function connect(): void {
  if (connection || document.hidden) return
  const opened = new AbortController()
  connection = opened
  follow(opened.signal)
    .catch(() => true)
    .then((mayTryAgain) => {
      // Given back by a hidden page.
      if (connection !== opened) return
      connection = undefined
      note(false)
      if (mayTryAgain) setTimeout(connect, RETRY_MS)
    })
}

/** Reads the stream to its end. By `fetch`: an `EventSource` sends no token. @returns false when the server wants a token first */
async function follow(signal: AbortSignal): Promise<boolean> {
  const response = await fetch('api/ui/live', { headers: authorization(), signal })
  if (!response.ok || !response.body) {
    const { detail } = (await response.json()) as { detail?: string }
    return !noteRefusal(response, detail)
  }
  note(true)
  for await (const { event, data } of readEventStream(response.body)) {
    const news = event === 'runs' ? (JSON.parse(data) as { runs: RunSummary[] }).runs : undefined
    for (const listener of listeners.get(event as keyof LiveEvents) ?? []) (listener as (data: unknown) => void)(news)
  }
  return true
}

/** Browsers allow a server few connections: a page that nobody sees gives its own back. */
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) connect()
  else if (connection) {
    connection.abort()
    connection = undefined
    note(false)
  }
})

function note(connected: boolean): void {
  isConnected = connected
  for (const watcher of watchers) watcher(connected)
}

/** Calls `listener` with live events of one kind while the component is mounted. */
export function useLive<Name extends keyof LiveEvents>(name: Name, listener: (data: LiveEvents[Name]) => void): void {
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => {
    connect()
    const heard = (data: LiveEvents[Name]) => latest.current(data)
    const all = listeners.get(name) ?? new Set()
    listeners.set(name, all)
    all.add(heard)
    return () => all.delete(heard)
  }, [name])
}

export function useIsLive(): boolean {
  const [connected, setConnected] = useState(isConnected)
  useEffect(() => {
    watchers.add(setConnected)
    return () => watchers.delete(setConnected)
  }, [])
  return connected
}

/** A function that is called at most once in a while, and at last. */
export function useThrottled(act: () => void, waitMs: number): () => void {
  const latest = useRef(act)
  latest.current = act
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, waitMs)
  }
}
