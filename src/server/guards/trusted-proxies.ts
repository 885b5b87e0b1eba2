import { BlockList, isIP, isIPv6 } from 'node:net'

/** Tells whether an address is that of a proxy in front, which names the client in `X-Forwarded-For`. */
export type IsProxy = (address: string) => boolean

/**
 * Makes the check of addresses from addresses and subnets: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. IPv4 addresses hold as well where they
 * are written as IPv6.
 *
 * @throws Error that names a text that is neither
 */
export function makeIsProxy(subnets: readonly string[]): IsProxy {
  const list = new BlockList()
  for (const subnet of subnets) add(list, subnet)
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

function add(list: BlockList, subnet: string): void {
  const [address = '', prefix, ...rest] = subnet.split('/')
  const bits = isIPv6(address) ? 128 : 32
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
  if (isIP(address) === 0 || !isPrefix || rest.length > 0) {
    throw new Error(`must be an address or a subnet such as 10.0.0.0/8, not '${subnet}'`)
  }
  list.addSubnet(address, Number(prefix ?? bits), familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
