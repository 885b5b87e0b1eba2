import cluster from 'node:cluster'
import { messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { BuiltServer } from '../../server/server.ts'
import { RELOAD, STOP } from './run-processes.ts'

/** Resolves when the first process of a group says stop. No message waits for a listener: called before this process listens. */
export function hearStop(): Promise<void> {
  return new Promise((resolve) => {
    if (cluster.isWorker) process.on('message', (message) => message === STOP && resolve())
  })
}

/**
 * The first signal lets running work end; a second one does not wait.
 *
 * @param stopped as {@link hearStop} returns it, of a process that may be one of a group
 */
export function stopOnSignal(
  server: { close(): Promise<void> },
  log: Pick<Log, 'info' | 'error'>,
  drainTimeout: number,
  { endsWithTerminal = true, stopped = hearStop() } = {},
): void {
  let isStopping = false
  const stop = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    log.info(`Stopping: running work has ${drainTimeout} s to finish. A second signal stops at once.`)
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error(`The server failed to stop in order: ${messageOf(error)}`)
        process.exit(1)
      },
    )
  }
  if (cluster.isWorker) stopWithPrimary(stop, stopped)
  // SIGHUP: the terminal was closed.
  else for (const signal of ['SIGTERM', 'SIGINT', ...(endsWithTerminal ? ['SIGHUP'] : [])]) process.on(signal, stop)
}

/** A signal that comes while the server starts, which may have read its files before, is obeyed once it listens. Of a group the first process hands it on. */
export function reloadOnSignal(starting: Promise<{ readonly server: BuiltServer }>): void {
  const reload = ({ server }: { readonly server: BuiltServer }): Promise<void> => {
    server.app.log.info('Reading the agents again.')
    return server.reload()
  }
  // Whoever awaits the start reports its failure.
  const act = (): void => void starting.then(reload, () => {})
  if (cluster.isWorker) process.on('message', (message) => message === RELOAD && act())
  else process.on('SIGHUP', act)
}

/** Terminals and supervisors send their signals to all processes of a group: the first process decides, also about a second signal. */
function stopWithPrimary(stop: () => void, stopped: Promise<void>): void {
  let isStopping = false
  const stopOnce = (): void => {
    if (!isStopping) stop()
    isStopping = true
  }
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('SIGTERM', stopOnce)
  void stopped.then(stopOnce)
  process.on('disconnect', () => (isStopping ? process.exit(1) : stopOnce()))
}
