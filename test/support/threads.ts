import type { Worker } from 'node:worker_threads'

/** Gives the work the threads that are started during it, the latest one last. */
export async function withThreads(work: (threads: readonly Worker[]) => Promise<void>): Promise<void> {
  const threads: Worker[] = []
  const add = (thread: Worker) => threads.push(thread)
  process.on('worker', add)
  try {
    await work(threads)
  } finally {
    process.off('worker', add)
  }
}

/**
 * Ends a thread by an error of its own, before what is sent to it after that. One that `terminate` ends within a call of libsql ends the
 * process.
 */
export function breakThread(thread: Worker | undefined): Promise<unknown> {
  thread?.postMessage(undefined)
  return new Promise((resolve) => thread?.once('exit', resolve))
}

/** The error. */
export const BROKEN = "Cannot read properties of undefined (reading 'kind')"
