import { BlockList, isIP } from 'node:net'
import { badOption } from '../errors.ts'

/** Returns the proxy of an address; `undefined` for one that is reached directly. */
export type ProxyFor = (address: URL) => URL | undefined

export interface ProxySettings {
  readonly proxyFor: ProxyFor
  /** The variables with their proxies, without user and password. */
  readonly description: string
}

const KINDS = { 'http:': 'HTTP_PROXY', 'https:': 'HTTPS_PROXY' } as const

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; in lower case they come first, as curl has it.
 *
 * @returns undefined where no proxy is named
 * @throws HostError `OPTION_INVALID` for a proxy that cannot be used; its value is not shown
 */
export function readProxySettings(environment: NodeJS.ProcessEnv): ProxySettings | undefined {
  const proxies = new Map<string, URL>()
  for (const [protocol, variable] of Object.entries(KINDS)) {
    const text = valueOf(environment, variable)
    if (text !== '') proxies.set(protocol, readProxy(text, variable))
  }
  if (proxies.size === 0) return undefined
  const exceptions = valueOf(environment, 'NO_PROXY')
  const entries = exceptions.split(/[,\s]+/).filter((entry) => entry !== '')
  const isDirect = (host: string, port: string) => isLoopback(host) || entries.some((entry) => fits(entry, host, port))
  const names = [...proxies].map(([protocol, { origin }]) => `${origin} (${KINDS[protocol as keyof typeof KINDS]})`)
  return {
    proxyFor: (address) => {
      const proxy = proxies.get(address.protocol)
      const host = address.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '')
      // Clients that know proxies by themselves ask for theirs.
      if (!proxy || proxy.host === address.host || isDirect(host, portOf(address))) return undefined
      return proxy
    },
    description: names.join(', ') + (entries.length > 0 ? `, but not to ${entries.join(', ')} (NO_PROXY)` : ''),
  }
}

/** Port of an address, also where it is the usual one. */
export function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

function valueOf(environment: NodeJS.ProcessEnv, variable: string): string {
  return (environment[variable.toLowerCase()] || environment[variable] || '').trim()
}

function readProxy(text: string, variable: string): URL {
  const address = text.includes('://') ? text : `http://${text}`
  if (URL.canParse(address) && /^https?:/i.test(address)) {
    const url = new URL(address)
    if (url.pathname === '/' && !url.search && !url.hash && isDecodable(url.username + url.password)) return url
  }
  throw badOption(`${variable} must be an address like http://proxy.example:3128.`, {
    suggestions: [
      'Percent-encode its user and password: # is %23, % is %25, / is %2F, ? is %3F, @ is %40.',
      `Proxies of other kinds, such as SOCKS, are not supported: unset ${variable}, or list all hosts: NO_PROXY='*'`,
    ],
  })
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function isLoopback(host: string): boolean {
  return /^(.+\.)?localhost$/.test(host) || (isIP(host) !== 0 && isWithin(LOOPBACK, host))
}

const LOOPBACK = new BlockList()
for (const network of ['127.0.0.0/8', '0.0.0.0/32', '::1/128', '::/128', '::ffff:127.0.0.0/104']) add(LOOPBACK, network)

function isWithin(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function add(list: BlockList, network: string): void {
  const [address = '', bits = ''] = network.split('/')
  list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** An entry is `*`, an address, a network as `10.0.0.0/8`, or a domain, which stands for its hosts too; some with a port. */
function fits(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const { v6, name = v6 ?? entry, port: only = port } = ENTRY.exec(entry.toLowerCase())?.groups ?? {}
  if (only !== port) return false
  if (isIP(host) !== 0) return name === host || (name.includes('/') && isInNetwork(name, host))
  const domain = name.replace(/^\*?\.|\.$/g, '')
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`))
}

const ENTRY = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:]+))(?::(?<port>\d+))?$/

function isInNetwork(network: string, host: string): boolean {
  try {
    const list = new BlockList()
    add(list, network)
    return isWithin(list, host)
  } catch {
    // An entry that is no network fits nothing.
    return false
  }
}
