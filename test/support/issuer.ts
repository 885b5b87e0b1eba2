import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>

/** An issuer of tokens, with a key of each kind. */
export class Issuer {
  /** Number of times that its keys were asked for. */
  asked = 0
  /** Answers in place of its keys. */
  answer: { readonly status: number; readonly body: string; readonly location?: string } | undefined
  /** Its keys are sent after it. */
  held: Promise<void> | undefined
  readonly #http: Server
  readonly #keys = new Map<string, KeyPair>()
  #url = ''

  constructor() {
    this.#http = createServer((request, response) => void this.#answer(request.url ?? '', response))
  }

  static async start(): Promise<Issuer> {
    const issuer = new Issuer()
    for (const alg of ['RS256', 'ES256', 'EdDSA']) await issuer.addKey(alg)
    issuer.#http.listen(0, '127.0.0.1')
    await once(issuer.#http, 'listening')
    issuer.#url = `http://127.0.0.1:${(issuer.#http.address() as AddressInfo).port}/realm`
    return issuer
  }

  get url(): string {
    return this.#url
  }

  async addKey(alg: string, kid = alg): Promise<void> {
    this.#keys.set(kid, await generateKeyPair(alg, { extractable: true }))
  }

  publicKey(kid: string): KeyPair['publicKey'] {
    return (this.#keys.get(kid) as KeyPair).publicKey
  }

  /** Signs a token that holds for five minutes, with these claims in the place of its own. */
  async sign(
    claims: JWTPayload = {},
    { alg = 'RS256', kid = alg }: { alg?: string; kid?: string } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const payload = { iss: this.url, aud: 'agents', sub: 'ada', iat: now, exp: now + 300, org: 'acme', ...claims }
    const { privateKey } = this.#keys.get(kid) ?? (await generateKeyPair(alg))
    return new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(privateKey)
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections()
    this.#http.close()
    await once(this.#http, 'close')
  }

  async #answer(path: string, response: import('node:http').ServerResponse): Promise<void> {
    response.setHeader('content-type', 'application/json')
    if (path === '/realm/.well-known/openid-configuration') {
      const more = {
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        response_types_supported: ['code'],
      }
      const own = { subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'] }
      response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/jwks`, ...more, ...own }))
    } else if (path !== '/realm/jwks') response.writeHead(404).end('{}')
    else {
      this.asked++
      await this.held
      const { status = 200, body, location } = this.answer ?? {}
      const keys = await Promise.all(
        [...this.#keys].map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid })),
      )
      response.writeHead(status, location === undefined ? {} : { location }).end(body ?? JSON.stringify({ keys }))
    }
  }
}
