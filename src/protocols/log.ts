/** Log for operators, written by modules and the host. A pino logger is one. */
export interface Log {
  debug(message: string): void
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** For embedders that give no log. */
export const silentLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} })
