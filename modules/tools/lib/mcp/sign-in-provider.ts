import { randomBytes } from 'node:crypto'
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { ModuleContext } from 'agent-host'
import { checkHeaderValues } from '../check-header-values.ts'

export interface OAuthConfig {
  readonly client_id?: string
  readonly client_secret?: string
  readonly scope?: string
  readonly hosts: readonly string[]
  readonly per: string
}

/** Client and tokens of a tenant at a server, sealed in one record. */
export interface SignedIn {
  readonly client?: StoredOAuthClientInformation
  readonly discovery?: OAuthDiscoveryState
  readonly tokens?: StoredOAuthTokens
  /** State of the latest refresh, unless it ended well: a refresh token that is used twice may end the sign-in (RFC 9700, section 4.14.2). */
  readonly refresh?: 'under way' | 'broken off'
  /** Reason why there are no tokens any more, for the person who is to sign in again. */
  readonly lost?: string
}

export interface SignInProviderOptions {
  readonly oauth: OAuthConfig
  readonly context: Pick<ModuleContext, 'callbackUrl'>
}

/** State of one sign-in, as the SDK reads and changes it. */
export class SignInProvider implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly #oauth: OAuthConfig
  readonly #verifier: string | undefined
  readonly #state = randomBytes(32).toString('base64url')
  #signedIn: SignedIn
  #begun: { readonly url?: string; readonly verifier?: string } = {}

  constructor({ context, oauth }: SignInProviderOptions, signedIn: SignedIn, verifier?: string) {
    this.redirectUrl = context.callbackUrl
    this.#oauth = oauth
    this.#signedIn = signedIn
    this.#verifier = verifier
  }

  get signedIn(): SignedIn {
    return this.#signedIn
  }

  get clientMetadata(): OAuthClientMetadata {
    const { client_secret: secret, scope } = this.#oauth
    return {
      client_name: 'agent-host',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: secret === undefined ? 'none' : 'client_secret_post',
      scope,
    }
  }

  /** @throws Error when the authorization server named no page that a browser opens */
  open(server: string): { readonly state: string; readonly url: string; readonly verifier: string } {
    const { url, verifier } = this.#begun
    if (url === undefined || verifier === undefined || !/^https?:/.test(url)) {
      throw new Error(`The MCP server '${server}' names no page to sign in at.`)
    }
    const { username, password } = new URL(url)
    if (username !== '' || password !== '') {
      throw new Error(
        `The MCP server '${server}' names a page to sign in at with user information, which can show another site than it leads to.`,
      )
    }
    return { state: this.#state, url, verifier }
  }

  state(): string {
    return this.#state
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { client_id, client_secret } = this.#oauth
    const { client } = this.#signedIn
    if (client_id === undefined) return isFor(this.redirectUrl, client) ? client : undefined
    // Another client of the config may be one of another authorization server.
    return { client_id, client_secret, issuer: client?.client_id === client_id ? client.issuer : undefined }
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#signedIn = { ...this.#signedIn, client }
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#signedIn.tokens
  }

  /** @throws Error for a token that no header can have: each request would fail, by an error that shows it */
  saveTokens(tokens: StoredOAuthTokens): void {
    checkHeaderValues({ authorization: `Bearer ${tokens.access_token}` }, 'The token of the authorization server')
    this.#signedIn = { ...this.#signedIn, tokens }
  }

  /** Known for the second half of a sign-in alone: a new one asks again. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#verifier === undefined ? undefined : this.#signedIn.discovery
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#signedIn = { ...this.#signedIn, discovery }
  }

  redirectToAuthorization(url: URL): void {
    this.#begun = { ...this.#begun, url: url.href }
  }

  saveCodeVerifier(verifier: string): void {
    this.#begun = { ...this.#begun, verifier }
  }

  codeVerifier(): string {
    return this.#verifier ?? ''
  }
}

/** A client is registered for one address to come back to: another address needs another client. */
function isFor(redirectUrl: string, client: StoredOAuthClientInformation | undefined): boolean {
  return !client || !('redirect_uris' in client) || client.redirect_uris.includes(redirectUrl)
}
