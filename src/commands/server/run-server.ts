import { Console } from 'node:console'
import { messageOf } from '../../errors.ts'
import { type Log, makeLog } from '../../protocols/log.ts'
import type { StdioServer } from '../../server/adapters/mcp/stdio-connection.ts'
import type { Questions } from '../../server/adapters/ui/questions/questions.ts'
import type { ServerOptions } from '../../server/options/options.ts'
import type { BuiltServer } from '../../server/server.ts'
import { printError } from '../terminal/print-error.ts'
import { reloadOnSignal, stopOnSignal } from './signals.ts'

/** Called with the address whenever requests are answered. */
export type OnReady = (server: BuiltServer, url: string) => void

/** A server that lives as long as this process. */
export interface ServerProcess {
  readonly log: Log
  /** Closes the server and starts another with these options, on the same port. */
  restart(options: ServerOptions): Promise<void>
}

/**
 * Builds a server, listens, and stays until a signal stops it.
 *
 * @param questions asked at this terminal
 */
export async function runServer(
  options: ServerOptions,
  onReady: OnReady = () => {},
  questions?: Questions,
): Promise<ServerProcess> {
  const { listAgentFiles } = await import('../../host/agent-folder/list-agent-files.ts')
  // Nothing is written before the folder is known to be there.
  await listAgentFiles(options.agentDir)
  // Before the agents' code is loaded: it may throw late while the server is still being built.
  let report = printError
  containCrashes((message) => report(message))
  const logSdkWarnings = divertSdkWarnings()
  const stopInOrder = stopOnSignal({ endsWithTerminal: !options.noWatch })
  let server: BuiltServer
  const log = makeLog((level, message) => server.app.log[level](message))
  const start = (all: ServerOptions, onBuilt: (built: BuiltServer) => void) =>
    startServer(all, onReady, questions, onBuilt)
  const starting = start(options, (built) => {
    server = built
    report = log.error
    logSdkWarnings(log.warn)
    stopInOrder({ close: () => server.close() }, log, options.drainTimeout)
  })
  if (options.noWatch) reloadOnSignal(starting)
  let { port } = await starting
  return {
    log,
    async restart(newOptions) {
      await server.close()
      const restarted = await start({ ...newOptions, port: newOptions.port || port }, (built) => {
        server = built
      })
      port = restarted.port
    },
  }
}

async function startServer(
  options: ServerOptions,
  onReady: OnReady,
  questions: Questions | undefined,
  onBuilt: (built: BuiltServer) => void,
): Promise<{ server: BuiltServer; port: number }> {
  const { buildServer } = await import('../../server/server.ts')
  const server = await buildServer(options, questions)
  // Before it listens: from then on a signal must not cut off a request.
  onBuilt(server)
  const url = await server.listen()
  onReady(server, url)
  return { server, port: Number(new URL(url).port) }
}

/** Serves MCP over standard input and output, until the client closes them or a signal comes. */
export async function runStdioServer(serve: () => Promise<StdioServer>, drainTimeout: number): Promise<void> {
  // Standard output belongs to the protocol: output of agents goes to standard error.
  globalThis.console = new Console(process.stderr, process.stderr)
  let report = printError
  containCrashes((message) => report(message))
  const logSdkWarnings = divertSdkWarnings()
  const stopInOrder = stopOnSignal()
  const server = await serve()
  report = (message) => server.log.error(message)
  logSdkWarnings((message) => server.log.warn(message))
  stopInOrder(server, server.log, drainTimeout)
  await server.ended
  await server.close()
  process.exit(0)
}

/** A promise that user code forgot, or a late throw in a timer, costs that code its call, not everybody the server. */
function containCrashes(report: (message: string) => void): void {
  const contain = (kind: string) => (error: unknown) => {
    const stack = error instanceof Error ? error.stack : undefined
    report(`${kind} in an agent's code that nothing handled; the server keeps running: ${stack ?? messageOf(error)}`)
  }
  process.on('unhandledRejection', contain('A rejected promise'))
  process.on('uncaughtException', contain('An error'))
}

/**
 * Takes what the MCP SDK warns of on the console, for the log.
 *
 * @returns function that names the log, which then gets the warnings of the start too
 */
function divertSdkWarnings(): (warn: (message: string) => void) => void {
  const early: string[] = []
  let take = (message: string): void => void early.push(message)
  const write = console.warn
  console.warn = (...args: unknown[]) => {
    const [message] = args
    if (typeof message === 'string' && message.startsWith(SDK_PREFIX)) take(message.slice(SDK_PREFIX.length))
    else write(...args)
  }
  return (warn) => {
    take = warn
    for (const message of early) warn(message)
  }
}

const SDK_PREFIX = '[mcp-sdk] '
