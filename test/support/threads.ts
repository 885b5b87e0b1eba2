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
