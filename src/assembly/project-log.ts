import { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { type LogFn, type Logger, pino } from 'pino'
import type { Log } from '../protocols/log.ts'
import type { Redact } from '../redaction/redact.ts'
import { cleanJson } from '../wire/clean-text.ts'

/** Least severe level of the lines that the log writes. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
export const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent']

/** Message to leave out of the log: Fastify always announces its address. */
export const NO_LINE = ''

/** A pino logger, also used by modules and the host. */
export type ServerLog = Logger & Log

/**
 * Opens the log of a process: readable lines on a terminal, JSON lines otherwise; with all secrets redacted.
 *
 * @param fd where to: standard output, or another descriptor where that is spoken for
 */
export async function openLog(
  { logLevel }: { readonly logLevel: LogLevel },
  redact: Redact,
  fd: 1 | 2 = 1,
): Promise<ServerLog> {
  const settings = { level: logLevel, base: null, hooks: { streamWrite: redact, logMethod } }
  if (!isatty(fd)) return pino(settings, pino.destination({ fd, sync: false }))
  const { default: pretty } = await import('pino-pretty')
  const shown = { ...settings, hooks: { logMethod, streamWrite: (line: string) => cleanJson(redact(line)) } }
  const look = { colorize: true, ignore: 'reqId,address,key,tenant,agent', translateTime: 'SYS:HH:MM:ss' }
  return pino(shown, pretty({ ...look, destination: terminalOf(fd) }))
}

function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  if (args[0] !== NO_LINE) method.apply(this, args)
}

/** A stream to the terminal that what holds back standard output or standard error holds back, too. */
function terminalOf(fd: 1 | 2): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      process[fd === 1 ? 'stdout' : 'stderr'].write(chunk)
      done()
    },
  })
}
