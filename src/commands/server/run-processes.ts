import cluster, { type Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'

/** Message to a process of the group: end in order. */
export const STOP = 'agent-host:stop'

/** Message to a process of the group: read the agents again. */
export const RELOAD = 'agent-host:reload'

/** Delay before a process that has died is replaced: one that dies at once must not keep the machine busy. */
const REPLACE_AFTER_MS = 1000
/** It doubles with every replacement that cannot start, up to this. */
const MAX_DELAY_MS = 60_000

/**
 * Runs this command in several processes that share its port, and replaces those that die. Ends with the last of them: with 0 after
 * a signal, with 1 when one of them could not start at first, after the others have finished what they do.
 *
 * @param warn told of replacements that could not start
 * @param noWatch true: SIGHUP has each of them read its agents again
 */
export async function runProcesses(count: number, warn: (message: string) => void, noWatch: boolean): Promise<void> {
  const group = new ProcessGroup(warn)
  const stop = (): void => {
    if (group.isStopping) process.exit(1)
    group.stop(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop)
  process.on('SIGHUP', noWatch ? () => group.send(RELOAD) : stop)
  await Promise.all(Array.from({ length: count }, () => group.keepRunning()))
  process.exit(group.exitCode)
}

class ProcessGroup {
  readonly #warn: (message: string) => void
  readonly #listening = new Set<Worker>()
  readonly #stopping = new AbortController()
  exitCode = 0

  constructor(warn: (message: string) => void) {
    this.#warn = warn
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  stop(exitCode: number): void {
    this.exitCode = exitCode
    this.#stopping.abort()
    for (const worker of Object.values(cluster.workers ?? {})) if (worker) this.#end(worker)
  }

  /** Sends a message to all processes. One that is still starting gets it once it listens: it may have read its files before. */
  send(message: string): void {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.send(message, () => {})
  }

  /** Keeps one process running. If its first one cannot begin to listen, that ends the group: its replacements are tried again. */
  async keepRunning(): Promise<void> {
    const first = await this.#run()
    if (this.isStopping) return
    if (!first.hasListened) return this.stop(first.code || 1)
    for (let delayMs = REPLACE_AFTER_MS; await this.#pause(delayMs); ) {
      const { hasListened } = await this.#run()
      if (this.isStopping) return
      delayMs = hasListened ? REPLACE_AFTER_MS : Math.min(2 * delayMs, MAX_DELAY_MS)
      if (!hasListened) this.#warn(`A process could not start. It is tried again in ${delayMs / 1000} s.`)
    }
  }

  async #run(): Promise<{ readonly code: number; readonly hasListened: boolean }> {
    const worker = fork()
    if (!worker) return { code: 1, hasListened: false }
    worker.once('listening', () => this.#listening.add(worker))
    const code = await new Promise<number>((resolve) => {
      worker.once('exit', resolve)
      // Sending to an exited process fails, too. One that the system did not make does not exit.
      worker.on('error', () => worker.process.pid === undefined && resolve(1))
    })
    return { code, hasListened: this.#listening.delete(worker) }
  }

  /** @returns false once the group stops */
  #pause(delayMs: number): Promise<boolean> {
    return wait(delayMs, true, { signal: this.#stopping.signal }).catch(() => false)
  }

  /** A process that does not listen yet has nothing to finish. */
  #end(worker: Worker): void {
    if (this.#listening.has(worker)) worker.send(STOP, () => {})
    else worker.process.kill()
  }
}

/** @returns undefined where the system has no room for another process */
function fork(): Worker | undefined {
  try {
    return cluster.fork()
  } catch {
    return undefined
  }
}
