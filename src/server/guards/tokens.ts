import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import { NAME_PATTERN } from '../../definition/definition.ts'
import { badOption, HostError, messageOf } from '../../errors.ts'
import { fieldsOf, isObject } from '../../json.ts'
import { RecentlyUsed } from '../../recently-used.ts'
import { MAX_USER_CHARS } from '../../wire/schemas.ts'
import type { ServerOptions } from '../options/options.ts'
import { isUpgrade } from '../streams/upgrade-route.ts'
import { isSecure } from './host-check.ts'
import { KEY_SCOPES, makePrincipal, type Principal } from './principal.ts'

/** Sender of a token, and the end of the time in which it holds, in Unix milliseconds. */
export interface Verified {
  readonly principal: Principal
  readonly untilMs: number
}

type KeySet = ReturnType<typeof createLocalJWKSet>

const NAME = new RegExp(NAME_PATTERN)
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA', 'Ed25519']
const MAX_REMEMBERED = 10_000
/** Characters of a token: those of issuers have one or two thousand. */
const MAX_LENGTH = 8192
const MAX_DOCUMENT_BYTES = 64 * 1024
const ANSWER_MS = 5000
/** Shortest time between two questions for keys that are not known. */
const ASK_AGAIN_MS = 30_000
/** Age from which on the server asks for the keys again: withdrawn ones go, and those that it knows serve meanwhile. */
const MAX_AGE_MS = 10 * 60_000
/** Time for which a failure to get any keys stands. */
const FAILED_MS = 1000
/** Longest time of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Bearers that are no static keys, as tokens of one issuer (RFC 7519), with the keys that it publishes (RFC 7517). */
export class Tokens {
  readonly #issuer: string
  readonly #audience: string
  readonly #claims: ReadonlyMap<string, string>
  readonly #log: Pick<FastifyBaseLogger, 'warn'>
  readonly #verified = new RecentlyUsed<Verified>({ maxItems: MAX_REMEMBERED })
  #keys: KeySet | undefined
  #fetching: Promise<KeySet> | undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #failure: HostError | undefined

  /** @throws HostError `OPTION_INVALID` without an audience */
  constructor(
    { jwtIssuer = '', jwtAudience, jwtClaims }: Pick<ServerOptions, 'jwtIssuer' | 'jwtAudience' | 'jwtClaims'>,
    log: Pick<FastifyBaseLogger, 'warn'>,
  ) {
    if (jwtAudience === undefined) throw badOption('--jwt-issuer needs --jwt-audience: whom the tokens are for.')
    this.#issuer = jwtIssuer
    this.#audience = jwtAudience
    this.#claims = new Map(jwtClaims.map((text) => text.split('=', 2) as [string, string]))
    this.#log = log
  }

  /**
   * Returns who sent a token; undefined for one that does not hold.
   *
   * @param digest of the token: it is verified once
   * @throws HostError `ISSUER_UNAVAILABLE`
   */
  check(token: string, digest: string): Verified | undefined | Promise<Verified | undefined> {
    if (token.length > MAX_LENGTH || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined
    const known = this.#verified.get(digest)
    if (!known) return this.#verify(token, digest)
    if (known.untilMs > Date.now()) return known
    this.#verified.delete(digest)
    return undefined
  }

  /**
   * Ends the connection of a request when its token expires, if that may bring more: a WebSocket, each of whose messages is a request, or
   * what may be listening. Any other request goes on to the end of its answer.
   */
  guard({ untilMs }: Verified, request: FastifyRequest, reply: FastifyReply): void {
    const { socket } = request.raw
    const connection = isUpgrade(request) ? socket : mayListen(request) ? reply.raw : undefined
    if (!connection) return
    const timer = setTimeout(() => socket.destroy(), Math.min(untilMs - Date.now(), MAX_TIMER_MS)).unref()
    connection.once('close', () => clearTimeout(timer))
  }

  async #verify(token: string, digest: string): Promise<Verified | undefined> {
    try {
      const payload = await this.#open(token)
      const principal = this.#toPrincipal(payload)
      const verified = principal && { principal, untilMs: Number(payload.exp) * 1000 }
      if (verified) this.#verified.set(digest, verified)
      return verified
    } catch (error) {
      if (error instanceof HostError) throw error
      return undefined
    }
  }

  async #open(token: string): Promise<JWTPayload> {
    const keys = this.#keys ?? (await this.#fetch())
    const ageMs = performance.now() - this.#askedMs
    if (ageMs > MAX_AGE_MS) this.#fetch().catch(() => {})
    const [issuer, audience] = [this.#issuer, this.#audience]
    const rules = { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp', 'sub'] }
    try {
      return (await jwtVerify(token, keys, rules)).payload
    } catch (error) {
      const mayAsk = ageMs >= ASK_AGAIN_MS || this.#fetching
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayAsk) throw error
      return (await jwtVerify(token, await this.#fetch().catch(() => keys), rules)).payload
    }
  }

  #toPrincipal(payload: JWTPayload): Principal | undefined {
    const { sub } = payload
    const [tenant, user = sub, scopes = ['run']] = ['tenant', 'user', 'scopes'].map((field) => {
      const claim = this.#claims.get(field)
      // A claim that is named has to be there: a token without it belongs to no tenant, not to the nameless one.
      return claim === undefined ? undefined : payload[claim] || null
    })
    const isOfTenant = tenant === undefined || (typeof tenant === 'string' && NAME.test(tenant))
    if (!isOfTenant || !isName(sub) || !isName(user) || scopes === null) return undefined
    return makePrincipal({ name: `jwt:${sub}`, tenant, user, scopes: readScopes(scopes) })
  }

  /** One at a time; what fails where no keys are known is not tried again at once. */
  #fetch(): Promise<KeySet> {
    const ageMs = performance.now() - this.#askedMs
    if (this.#failure && !this.#keys && ageMs < FAILED_MS) return Promise.reject(this.#failure)
    this.#fetching ??= this.#readKeys().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #readKeys(): Promise<KeySet> {
    this.#askedMs = performance.now()
    try {
      const { jwks_uri, issuer } = await readMetadata(this.#issuer)
      if (issuer !== this.#issuer) throw new Error(`its document names the issuer '${issuer}'`)
      // It checks their shape itself.
      this.#keys = createLocalJWKSet((await readDocument(String(jwks_uri))) as unknown as JSONWebKeySet)
      return this.#keys
    } catch (cause) {
      const message = `The keys of ${this.#issuer} cannot be read: ${messageOf(cause)}.`
      if (this.#keys) this.#log.warn(`${message} Those that are known stay in use.`)
      this.#failure = new HostError('ISSUER_UNAVAILABLE', message, { cause })
      throw this.#failure
    }
  }
}

/** A GET, or a subscription of MCP: the SDK compares the header with the method of the message. */
function mayListen({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' || headers['mcp-method'] === 'subscriptions/listen'
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_USER_CHARS && /^\P{Cc}+$/u.test(value)
}

/** A text with spaces between, as `scope` has it (RFC 8693, section 4.2), or a list. Others than ours are for others. */
function readScopes(claim: unknown): Principal['scopes'] {
  const given: unknown[] = Array.isArray(claim) ? claim : String(claim).split(' ')
  return KEY_SCOPES.filter((scope) => given.includes(scope))
}

/** Reads what an issuer says of itself: OpenID Connect Discovery, section 4, or RFC 8414. */
async function readMetadata(issuer: string): Promise<Readonly<Record<string, unknown>>> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return readDocument(`${origin}${path}/.well-known/openid-configuration`).catch(() =>
    readDocument(`${origin}/.well-known/oauth-authorization-server${path}`),
  )
}

async function readDocument(address: string): Promise<Readonly<Record<string, unknown>>> {
  if (!isSecure(address)) throw new Error(`'${address}' is no https address`)
  const reply = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
  if (!reply.ok || !reply.body) throw new Error(`${address} answers ${reply.status}`)
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of reply.body) {
    bytes += piece.length
    if (bytes > MAX_DOCUMENT_BYTES) throw new Error(`${address} answers more than ${MAX_DOCUMENT_BYTES} bytes`)
    pieces.push(piece)
  }
  const document: unknown = JSON.parse(Buffer.concat(pieces).toString())
  if (!isObject(document)) throw new Error(`${address} answers no JSON object`)
  return fieldsOf(document)
}
