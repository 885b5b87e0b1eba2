/** Log for operators, written by modules and the host. A pino logger is one. */
export interface Log {
  debug(message: string): void
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** Returns a log that writes every message by one function. */
export function makeLog(write: (level: keyof Log, message: string) => void): Log {
  return Object.freeze({
    debug: (message: string) => write('debug', message),
    info: (message: string) => write('info', message),
    warn: (message: string) => write('warn', message),
    error: (message: string) => write('error', message),
  })
}

/** For embedders that give no log. */
export const silentLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} })
