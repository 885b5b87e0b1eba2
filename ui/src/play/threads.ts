import { useEffect, useState } from 'preact/hooks'
import type { Column } from '../responses/column.ts'
import type { Seed } from '../responses/setup.ts'
import { keep, readKept } from '../storage.ts'

/** Answer of one column: a stored response, and those that went on with it after a person had decided something. */
export interface TurnAnswer {
  readonly responseIds: readonly string[]
  /** Reason why the question was refused; empty when it was not. */
  readonly error: string
}

/** One question of a thread, with an answer of every column. */
export interface Turn {
  readonly question: string
  /** Names of the files that were sent along. */
  readonly files: readonly string[]
  readonly answers: readonly TurnAnswer[]
  /** As they were asked; those of the thread where it does not say. */
  readonly columns?: readonly Column[]
}

/** A conversation. The browser keeps its questions, the server its answers. */
export interface Thread {
  readonly id: string
  /** One; up to four for a comparison. */
  readonly columns: readonly Column[]
  readonly seed?: Seed
  /** Unix seconds. */
  readonly updatedAt: number
  readonly turns: readonly Turn[]
}

const NAME = 'playground'
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

/** Adds the response that continues another one. */
export function addContinuation(threadId: string, responseId: string, nextId: string): void {
  const extend = (answer: TurnAnswer): TurnAnswer =>
    answer.responseIds.includes(responseId) && !answer.responseIds.includes(nextId)
      ? { ...answer, responseIds: [...answer.responseIds, nextId] }
      : answer
  const extendTurn = (turn: Turn): Turn => ({ ...turn, answers: turn.answers.map(extend) })
  writeThreads(
    readThreads().map((each) => (each.id === threadId ? { ...each, turns: each.turns.map(extendTurn) } : each)),
  )
}

/** Changes who answers in a thread from now on. */
export function changeColumns(threadId: string, columns: readonly Column[]): void {
  writeThreads(readThreads().map((each) => (each.id === threadId ? { ...each, columns } : each)))
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
