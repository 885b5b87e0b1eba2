import { useEffect, useState } from 'preact/hooks'
import { keep, readKept } from '../storage.ts'

/** One question of a thread. Its answer is a stored response, which knows how far it is. */
export interface Turn {
  readonly responseId: string
  readonly question: string
}

/** A conversation with an agent. The browser keeps its questions, the server its answers. */
export interface Thread {
  readonly id: string
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly model: string
  /** Unix seconds. */
  readonly updatedAt: number
  readonly turns: readonly Turn[]
}

const NAME = 'threads'
const MAX_THREADS = 100
const CHANGED = 'agent-host.threads'

export function readThreads(): readonly Thread[] {
  return readKept<readonly Thread[]>(NAME, [])
}

/** Keeps a thread, as the newest. */
export function saveThread(thread: Thread): void {
  const others = readThreads().filter(({ id }) => id !== thread.id)
  writeThreads([thread, ...others].slice(0, MAX_THREADS))
}

export function removeThread(id: string): void {
  writeThreads(readThreads().filter((thread) => thread.id !== id))
}

function writeThreads(threads: readonly Thread[]): void {
  keep(NAME, threads)
  dispatchEvent(new Event(CHANGED))
}

/** The threads of this browser, newest first, in step with other windows. */
export function useThreads(): readonly Thread[] {
  const [threads, setThreads] = useState(readThreads)
  useEffect(() => {
    const follow = () => setThreads(readThreads())
    for (const name of [CHANGED, 'storage']) addEventListener(name, follow)
    return () => {
      for (const name of [CHANGED, 'storage']) removeEventListener(name, follow)
    }
  }, [])
  return threads
}
