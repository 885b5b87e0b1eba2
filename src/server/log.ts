import { type Logger, pino } from 'pino'
import type { Log } from '../agent/log.ts'
import type { ServerOptions } from './options.ts'
import type { Redact } from './redact.ts'

/** A pino logger, which also is what modules and the host write to. */
export type ServerLog = Logger & Log

/** Readable lines on a terminal, JSON lines otherwise; without secrets, whoever wrote them into a line. */
export async function makeLog({ logLevel }: Pick<ServerOptions, 'logLevel'>, redact: Redact): Promise<ServerLog> {
  const settings = { level: logLevel, base: null, hooks: { streamWrite: redact } }
  if (!process.stdout.isTTY) return pino(settings, pino.destination({ fd: 1, sync: false }))
  const { default: pretty } = await import('pino-pretty')
  return pino(settings, pretty({ colorize: true, ignore: 'reqId', translateTime: 'HH:MM:ss', sync: true }))
}
