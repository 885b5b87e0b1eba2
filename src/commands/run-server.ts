import { Console } from 'node:console'
import { messageOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import type { ServerOptions } from '../server/options.ts'
import type { AgentServer } from '../server/server.ts'

/**
 * Builds a server, listens, and stays until it is told to stop.
 *
 * @param onReady called with the address when requests are answered
 */
export async function runServer(
  options: ServerOptions,
  onReady: (server: AgentServer, url: string) => void = () => {},
): Promise<void> {
  const { buildServer } = await import('../server/server.ts')
  // Before the agents' code is loaded: it may throw late while the server is still being built.
  let report = (message: string): void => console.error(message)
  containCrashes((message) => report(message))
  const server = await buildServer(options)
  const { log } = server.app
  report = (message) => log.error(message)
  stopOnSignal(server, log)
  onReady(server, await server.listen())
}

/** Serves MCP over standard input and output, until the client closes them or a signal comes. */
export async function runStdioServer(options: ServerOptions): Promise<void> {
  const { serveStdio } = await import('../server/stdio-server.ts')
  // Standard output belongs to the protocol: what the code of agents prints goes beside it.
  globalThis.console = new Console(process.stderr, process.stderr)
  let report = (message: string): void => console.error(message)
  containCrashes((message) => report(message))
  const server = await serveStdio(options)
  report = (message) => server.log.error(message)
  stopOnSignal(server, server.log)
  await server.ended
  await server.close()
  process.exit(0)
}

/** A promise that user code forgot, or a late throw in a timer, costs that code its call, not everybody the server. */
function containCrashes(report: (message: string) => void): void {
  const contain = (kind: string) => (error: unknown) => {
    const stack = error instanceof Error ? error.stack : undefined
    report(`${kind} in the code of an agent (nobody waited for it; the server goes on): ${stack ?? messageOf(error)}`)
  }
  process.on('unhandledRejection', contain('A rejected promise'))
  process.on('uncaughtException', contain('An error'))
}

/** The first signal lets running work end; a second one does not wait. */
function stopOnSignal(server: { close(): Promise<void> }, log: Pick<Log, 'info' | 'error'>): void {
  let stopping = false
  const stop = (): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info('Stopping: running work may end; a second signal stops at once.')
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error(`The server did not stop in order: ${messageOf(error)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
