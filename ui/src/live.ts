import { type ComponentChildren, createContext, h } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { QuestionNews } from '../../src/wire/question.ts'
import { readEventStream } from './read-event-stream.ts'
import { authorization, noteRefusal } from './token.ts'
import type { RunSummary } from './types.ts'

interface LiveEvents {
  /** Runs that have begun, gone on or ended. */
  runs: RunSummary[]
  /** An agent or its file has changed. */
  agents: undefined
  /** Something waits for a person, or waits no longer. */
  approvals: undefined
  /** State of a question at the terminal. */
  questions: QuestionNews
  /** Events were lost. */
  tracing: undefined
  /** Reconnected: events in between are missing. */
  ready: undefined
}

const RETRY_MS = 2000

/** The stream of news from the server. It is opened again when it ends; a page that nobody sees gives it back. */
class LiveConnection {
  readonly #listeners = new Map<keyof LiveEvents, Set<(data: never) => void>>()
  readonly #watchers = new Set<(isConnected: boolean) => void>()
  /** Ends the stream; undefined while there is none. */
  #stream: AbortController | undefined
  #isClosed = true
  isConnected = false

  /** @returns a function that closes it */
  open(): () => void {
    this.#isClosed = false
    // Browsers allow a server few connections.
    const follow = () => (document.hidden ? this.#giveBack() : this.#connect())
    document.addEventListener('visibilitychange', follow)
    follow()
    return () => {
      this.#isClosed = true
      document.removeEventListener('visibilitychange', follow)
      this.#giveBack()
    }
  }

  /** @returns a function that ends it */
  on<Name extends keyof LiveEvents>(name: Name, listener: (data: LiveEvents[Name]) => void): () => void {
    const all = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, all)
    all.add(listener)
    return () => all.delete(listener)
  }

  /** @returns a function that ends it */
  watch(watcher: (isConnected: boolean) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #connect(): void {
    if (this.#stream || this.#isClosed || document.hidden) return
    const opened = new AbortController()
    this.#stream = opened
    this.#follow(opened.signal)
      .catch(() => true)
      .then((mayTryAgain) => {
        // Given back meanwhile.
        if (this.#stream !== opened) return
        this.#stream = undefined
        this.#note(false)
        if (mayTryAgain) setTimeout(() => this.#connect(), RETRY_MS)
      })
  }

  #giveBack(): void {
    this.#stream?.abort()
    this.#stream = undefined
    this.#note(false)
  }

  /** Reads the stream to its end. By `fetch`: an `EventSource` sends no token. @returns false when the server wants a token first */
  async #follow(signal: AbortSignal): Promise<boolean> {
    const response = await fetch('api/ui/live', { headers: authorization(), signal })
    if (!response.ok || !response.body) {
      const { detail } = (await response.json()) as { detail?: string }
      return !noteRefusal(response, detail)
    }
    this.#note(true)
    for await (const { event, data } of readEventStream(response.body)) {
      const { runs, ...news } = JSON.parse(data) as { runs?: RunSummary[] }
      const listeners = this.#listeners.get(event as keyof LiveEvents) ?? []
      for (const listener of listeners) (listener as (data: unknown) => void)(runs ?? news)
    }
    return true
  }

  #note(isConnected: boolean): void {
    this.isConnected = isConnected
    for (const watcher of this.#watchers) watcher(isConnected)
  }
}

const Live = createContext<LiveConnection | undefined>(undefined)

/** Connects everything within it with the server, by one stream. */
export function LiveProvider({ children }: { children: ComponentChildren }) {
  const [connection] = useState(() => new LiveConnection())
  useEffect(() => connection.open(), [])
  return h(Live.Provider, { value: connection }, children)
}

/** Calls `listener` with live events of one kind while the component is mounted. */
export function useLive<Name extends keyof LiveEvents>(name: Name, listener: (data: LiveEvents[Name]) => void): void {
  const connection = useContext(Live)
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => connection?.on(name, (data) => latest.current(data)), [connection, name])
}

export function useIsLive(): boolean {
  const connection = useContext(Live)
  const [isConnected, setConnected] = useState(connection?.isConnected ?? false)
  useEffect(() => connection?.watch(setConnected), [connection])
  return isConnected
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
