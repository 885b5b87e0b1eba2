import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { HostError } from '../../errors.ts'
import { hostName, isLoopback } from './host-check.ts'

type Request = Pick<FastifyRequest, 'headers'>

export interface OriginRules {
  readonly allowedHosts: readonly string[]
  /** Address under which people reach the server: its pages are the server's own, also behind a proxy that changes the `Host`. */
  readonly publicUrl?: string | undefined
  /** Origins whose pages are treated as those of the server itself. */
  readonly trustedOrigins: readonly string[]
}

/** The rule that tells pages of this server from those of others. Programs name no origin. */
export class Origins {
  readonly #allowedHosts: ReadonlySet<string>
  readonly #trusted: ReadonlySet<string>
  /** Clients send the same header every time: the last good one needs no second look. */
  #lastOwnHost: string | undefined

  constructor({ allowedHosts, publicUrl, trustedOrigins }: OriginRules) {
    const published = publicUrl === undefined ? [] : [new URL(publicUrl)]
    this.#allowedHosts = new Set(
      [...allowedHosts, ...published.map(({ hostname }) => hostname)].map((host) => host.toLowerCase()),
    )
    this.#trusted = new Set([...trustedOrigins, ...published.map(({ origin }) => origin)])
  }

  /**
   * True for a page that this server serves, or whose origin is trusted. A name that is neither loopback nor listed may have been
   * pointed at this server by its owner (DNS rebinding): an origin that equals it proves nothing.
   */
  isOwn({ headers: { origin = '', host = '' } }: Request): boolean {
    if (this.isTrusted(origin)) return true
    return (origin === `http://${host}` || origin === `https://${host}`) && this.#isOwnHost(host)
  }

  isTrusted(origin: string): boolean {
    return this.#trusted.has(origin.toLowerCase())
  }

  /** True for a page of another origin, as browsers say. `Sec-Fetch-Site` only adds suspicion: they do not always send it. */
  isForeign(request: Request): boolean {
    const { origin, 'sec-fetch-site': site } = request.headers
    return origin === undefined ? site === 'cross-site' || site === 'same-site' : !this.isOwn(request)
  }

  /** True for a page that may be one of another origin: browsers send no `Origin` with a GET of a page to where it came from. */
  mayBeForeign(request: Request): boolean {
    const { origin, host = '' } = request.headers
    return this.isForeign(request) || (origin === undefined && !this.#isOwnHost(host))
  }

  /** Returns the error for a page that may not do something, with what would allow it. */
  refuse({ headers: { origin = 'another site', host = '' } }: Request, what: string): HostError {
    const isAtHost = origin === `http://${host}` || origin === `https://${host}`
    const flag = isAtHost ? `--allowed-host ${hostName(host)}` : `--trusted-origin ${origin}`
    const remedy = URL.canParse(origin) ? `; ${flag} allows it` : ''
    return new HostError('ORIGIN_FORBIDDEN', `Pages of '${origin}' may not ${what}${remedy}`)
  }

  #isOwnHost(host: string): boolean {
    if (host === this.#lastOwnHost) return true
    const name = hostName(host)
    const isListed = this.#allowedHosts.has(name) || this.#allowedHosts.has(host.toLowerCase())
    if (!isListed && !isLoopback(name) && isIP(name.replace(/^\[(.*)\]$/, '$1')) === 0) return false
    this.#lastOwnHost = host
    return true
  }
}
