import cluster from 'node:cluster'
import { deferred } from '../../async.ts'
import { messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { BuiltServer } from '../../server/server.ts'
import { RELOAD, STOP } from './run-processes.ts'

/** Called when the server is built, before it listens. From then on a signal lets running work end. */
type OnBuilt = (server: { close(): Promise<void> }, log: Pick<Log, 'info' | 'error'>, drainTimeout: number) => void

/**
 * The first signal lets running work end; a second one does not wait. Called before the server starts: until it is built there is no
 * work to finish, so a signal ends this process at once, together with the programs that it has started.
 */
export function stopOnSignal({ endsWithTerminal = true } = {}): OnBuilt {
  let stop = (): void => process.exit(0)
  const built = deferred()
  const onSignal = () => stop()
  if (cluster.isWorker) stopWithPrimary(onSignal, built.promise)
  // SIGHUP: the terminal was closed.
  else for (const signal of ['SIGTERM', 'SIGINT', ...(endsWithTerminal ? ['SIGHUP'] : [])]) process.on(signal, onSignal)
  return (server, log, drainTimeout) => {
    stop = makeStop(server, log, drainTimeout)
    built.resolve()
  }
}

function makeStop(...[server, log, drainTimeout]: Parameters<OnBuilt>): () => void {
  let isStopping = false
  return () => {
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
function stopWithPrimary(stop: () => void, built: Promise<void>): void {
  let isStopping = false
  const stopOnce = (): void => {
    if (!isStopping) stop()
    isStopping = true
  }
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('SIGTERM', stopOnce)
  // The first process sends it as soon as this one listens.
  process.on('message', (message) => message === STOP && void built.then(stopOnce))
  cluster.worker?.on('disconnect', () => {
    if (isStopping) process.exit(1)
    // Otherwise Node ends this worker at once, without its answers.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    stopOnce()
  })
}
