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
  readonly requiresKey: boolean
  /** Variable of its own key, of an adapter that is not built in. */
  readonly variable: string | undefined
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
  const open = adapters.filter(({ isOpen }) => isOpen)
  const names = open.map(({ name }) => name).join(', ')
  if (open.length > 0 && !options.development) log.info(`Requests are accepted without a key: ${names}.`)
  const problem = isLoopback(options.host)
    ? describeUneven(adapters)
    : `${options.host} can be reached from other machines, and ${lackKeys(open)}`
  if (open.length === 0 || problem === undefined) return
  if (options.requireAuth) {
    throw badOption(`${problem}; --require-auth does not allow that.`, {
      suggestions: [howToClose(open, options.host)],
    })
  }
  log.warn(`${problem}. ${howToClose(open, options.host)}`)
}

/** An adapter of a package lacks a key where another one has one: its author's key is easily forgotten. */
function describeUneven(adapters: readonly ServedAdapter[]): string | undefined {
  const open = adapters.filter(({ name, isOpen }) => isOpen && !BUILT_IN_ADAPTERS.includes(name))
  const closed = adapters.find(({ requiresKey }) => requiresKey)
  return open.length > 0 && closed ? `${closed.name} requires a key, and ${lackKeys(open)}` : undefined
}

function lackKeys(open: readonly ServedAdapter[]): string {
  return `${open.map(({ name }) => name).join(', ')} ${open.length === 1 ? 'requires' : 'require'} no key`
}

/** Command to type. */
function howToClose(open: readonly ServedAdapter[], host: string): string {
  const variables = open.flatMap(({ name, variable }) => variable ?? KEY_VARIABLES[name]?.slice(0, 1) ?? [])
  const keys = variables.map((name) => `${name}=$(openssl rand -hex 32)`).join(' ')
  const ways = [
    ...(keys === '' ? [] : [`${keys} agent-host serve ...`]),
    ...(isLoopback(host) ? [] : ['agent-host serve --host 127.0.0.1 ...']),
  ]
  return ways.length === 0
    ? 'Close it with a file of keys: --keys keys.yml'
    : `Close it with ${ways.join(', or with ')}`
}
