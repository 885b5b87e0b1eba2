import cluster, { type Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'

/** Message to a process of the group: end in order. */
export const STOP = 'agent-host:stop'

/** Delay before a process that has died is replaced: one that dies at once must not keep the machine busy. */
const REPLACE_AFTER_MS = 1000

/**
 * Runs this command in several processes that share its port, and replaces those that die. Ends with the last of them: with 0 after
 * a signal, with 1 when one of them could not start.
 */
export async function runProcesses(count: number): Promise<void> {
  const group: ProcessGroup = { isStopping: false, listening: new Set() }
  const stop = (): void => {
    if (group.isStopping) process.exit(1)
    group.isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) if (worker) end(worker, group)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, stop)
  await Promise.all(Array.from({ length: count }, () => keepRunning(group)))
  process.exit(0)
}

interface ProcessGroup {
  isStopping: boolean
  readonly listening: Set<Worker>
}

/** Keeps one process running. One that could not begin to listen ends all. */
async function keepRunning(group: ProcessGroup): Promise<void> {
  while (!group.isStopping) {
    const worker = cluster.fork()
    worker.once('listening', () => group.listening.add(worker))
    // Sending to an exited process fails.
    worker.on('error', () => {})
    const code = await new Promise<number>((resolve) => worker.once('exit', resolve))
    if (group.isStopping) return
    if (!group.listening.delete(worker)) process.exit(code || 1)
    await wait(REPLACE_AFTER_MS)
  }
}

/** A process that does not listen yet has nothing to finish. */
function end(worker: Worker, { listening }: ProcessGroup): void {
  if (listening.has(worker)) worker.send(STOP, () => {})
  else worker.process.kill()
}
