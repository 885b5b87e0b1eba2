import type { SentinelConnectionOptions } from 'ioredis'
import { badOption } from '../../errors.ts'

export interface RedisLocation {
  /** Of the server; behind Sentinel only its user, password and database count. */
  readonly url: string
  /** Undefined without Sentinel. */
  readonly sentinel: SentinelOptions | undefined
  /** Prefix of the keys. */
  readonly prefix: string
}

type SentinelOptions = Pick<SentinelConnectionOptions, 'sentinels' | 'name' | 'sentinelUsername' | 'sentinelPassword'>

/** `redis+sentinel://user:password@one:26379,two:26379/0?master=name` */
const SENTINEL_URL = /^redis\+sentinel:\/\/((?:[^/?#]*@)?)([^/?#@]+)(.*)$/
const SENTINEL_PORT = 26379

/** Returns true for a URL of Redis, with several hosts behind Sentinel. */
export function isRedisUrl(text: string): boolean {
  const single = text.replace(SENTINEL_URL, (_url, user, hosts: string, rest) => {
    return hosts.split(',').every((host) => host !== '' && URL.canParse(`redis://${host}`))
      ? `redis://${user}sentinel${rest}`
      : ''
  })
  return /^rediss?:\/\//.test(single) && URL.canParse(single)
}

/**
 * Reads a checked URL. Options of it: `prefix` (default: `agent-host`); for Sentinel `master`, its name for the server, and
 * `sentinel_username` and `sentinel_password` where Sentinel has its own.
 *
 * @throws HostError `OPTION_INVALID`
 */
export function readRedisUrl(text: string): RedisLocation {
  const [, user = '', hosts, rest = ''] = SENTINEL_URL.exec(text) ?? []
  const url = new URL(hosts === undefined ? text : `redis://${user}sentinel${rest}`)
  const take = (name: string) => {
    const value = url.searchParams.get(name) ?? undefined
    url.searchParams.delete(name)
    return value
  }
  const prefix = take('prefix') ?? 'agent-host'
  if (!/^[\w.:-]{1,64}$/.test(prefix)) {
    throw badOption(`The prefix '${prefix}' of --store has 1 to 64 letters, digits, or .:_-`)
  }
  // A database that is no number is refused by Redis, as any that it lacks: the client would go on without one.
  if (!/^\/?\d*$/.test(url.pathname)) url.pathname = '/-1'
  const sentinel = hosts === undefined ? undefined : readSentinel(hosts, take)
  return { url: url.href, sentinel, prefix }
}

/** Returns the URL of a store without user, password and options. */
export function describeRedisUrl(text: string): string {
  return text.replace(/:\/\/[^/?#]*@/, '://').replace(/[?#].*/, '')
}

function readSentinel(hosts: string, take: (name: string) => string | undefined): SentinelOptions {
  const name = take('master')
  if (!name) {
    throw badOption('The URL of --store does not say which server Sentinel watches for it.', {
      suggestions: ['Add the name that it has in sentinel.conf: redis+sentinel://host:26379/0?master=mymaster'],
    })
  }
  const sentinels = hosts.split(',').map((text) => {
    const { hostname, port } = new URL(`redis://${text}`)
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || SENTINEL_PORT) }
  })
  const [sentinelUsername, sentinelPassword] = [take('sentinel_username'), take('sentinel_password')]
  return {
    sentinels,
    name,
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
  }
}
