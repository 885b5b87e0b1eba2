import { useEffect, useRef, useState } from 'preact/hooks'
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
let source: EventSource | undefined
let isConnected = false
const watchers = new Set<(isConnected: boolean) => void>()

function connect(): void {
  if (source || document.hidden) return
  source = new EventSource('api/ui/live')
  source.onopen = () => note(true)
  source.onerror = () => {
    note(false)
    // An answer that is no stream ends it for good: tried again, since the server may only be restarting.
    if (source?.readyState === EventSource.CLOSED) {
      source = undefined
      setTimeout(connect, 2000)
    }
  }
  for (const name of ['runs', 'agents', 'tracing', 'ready'] as const) {
    source.addEventListener(name, ({ data }) => {
      const news = name === 'runs' ? (JSON.parse(data) as { runs: RunSummary[] }).runs : undefined
      for (const listener of listeners.get(name) ?? []) (listener as (data: unknown) => void)(news)
    })
  }
}

/** Browsers allow a server few connections: a page that nobody sees gives its own back. */
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) connect()
  else if (source) {
    source.close()
    source = undefined
    note(false)
  }
})

function note(connected: boolean): void {
  isConnected = connected
  for (const watcher of watchers) watcher(connected)
}

/** Hears of one kind of live event while the component is there. */
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
