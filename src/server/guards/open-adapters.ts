import type { FastifyBaseLogger } from 'fastify'
import { badOption } from '../../errors.ts'
import { BUILT_IN_ADAPTERS } from '../adapters/load-adapter.ts'
import { KEY_VARIABLES, type ServerOptions } from '../options/options.ts'
import { isLoopback } from './host-check.ts'

/** Adapter that is served. */
export interface ServedAdapter {
  readonly name: string
  /** True when its requests need no key. */
  readonly isOpen: boolean
}

/**
 * Warns of adapters that anyone who reaches the server can use.
 *
 * @throws HostError `OPTION_INVALID` under `--require-auth`
 */
export function warnOfOpenAdapters(
  adapters: readonly ServedAdapter[],
  options: ServerOptions,
  log: FastifyBaseLogger,
): void {
  if (adapters.length === 0) {
    const command = `agent-host serve ${BUILT_IN_ADAPTERS.map((name) => `--adapter ${name}`).join(' ')}`
    log.warn(`No adapter is selected, so no API is served. Choose from: ${command}`)
  }
  const open = adapters.filter(({ isOpen }) => isOpen).map(({ name }) => name)
  if (open.length > 0 && !options.development) log.info(`Requests are accepted without a key: ${open.join(', ')}.`)
  if (open.length === 0 || isLoopback(options.host)) return
  const verb = open.length === 1 ? 'requires' : 'require'
  const message = `${options.host} can be reached from other machines, and ${open.join(', ')} ${verb} no key`
  if (options.requireAuth) {
    const suggestions = [howToClose(open)]
    throw badOption(`${message}; --require-auth does not allow that.`, { suggestions })
  }
  log.warn(`${message}. ${howToClose(open)}`)
}

/** Command to type. */
function howToClose(open: readonly string[]): string {
  const variables = open.flatMap((name) => KEY_VARIABLES[name]?.slice(0, 1) ?? [])
  const keys = variables.map((name) => `${name}=$(openssl rand -hex 32)`).join(' ')
  return `Close it with ${keys === '' ? '' : `${keys} agent-host serve ..., or with `}agent-host serve --host 127.0.0.1 ...`
}
