import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import { messageOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import { hideSecrets, type Redact } from '../redaction/redact.ts'
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
  const hide = (line: string) => `${hideSecrets(line.trimEnd(), redact)}\n`
  const settings = { level: logLevel, base: null, hooks: { streamWrite: hide, logMethod } }
  if (!isatty(fd)) return pino(settings, openFile(fd))
  const { default: pretty } = await import('pino-pretty')
  const shown = { ...settings, hooks: { logMethod, streamWrite: (line: string) => cleanJson(hide(line)) } }
  const look = { colorize: true, ignore: 'reqId,address,key,tenant,agent', translateTime: 'SYS:HH:MM:ss' }
  return pino(shown, pretty({ ...look, destination: terminalOf(fd) }))
}

function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  if (args[0] !== NO_LINE) method.apply(this, args)
}

/** Lines that a full disk or a slow reader does not take wait up to this, for the next line that it takes. */
const MAX_UNWRITTEN_BYTES = 16 * 1024 * 1024

/** A line that cannot be written stops nobody, and is no error of the code that runs. */
function openFile(fd: 1 | 2): DestinationStream {
  const file = pino.destination({ fd, sync: false, maxLength: MAX_UNWRITTEN_BYTES })
  const flush = file.flushSync.bind(file)
  let isFailing = false
  file.on('error', (error: unknown) => {
    if (!isFailing && fd === 1) tellInstead(`The log cannot be written: ${messageOf(error)}. The server keeps running.`)
    isFailing = true
  })
  file.on('drain', () => {
    isFailing = false
  })
  // At the end of the process, sonic-boom would try for ever what the disk refuses.
  file.flushSync = () => {
    if (!isFailing) flush()
  }
  return file
}

/** Says it on standard error, which may be gone as well. */
function tellInstead(message: string): void {
  try {
    writeSync(2, `${message}\n`)
  } catch {
    // Nobody is left to be told.
  }
}

/** A stream to the terminal that what holds back standard output or standard error holds back, too. */
function terminalOf(fd: 1 | 2): Writable {
  const terminal = process[fd === 1 ? 'stdout' : 'stderr']
  let isClosed = false
  // Before the listener of oclif, whose error would be logged, and fail as well.
  terminal.prependListener('error', () => {
    isClosed = true
  })
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isClosed) terminal.write(chunk)
      done()
    },
  })
}
