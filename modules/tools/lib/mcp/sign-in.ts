import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type AuthProvider,
  auth,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  SdkErrorCode,
  type Tool,
} from '@modelcontextprotocol/client'
import {
  causesOf,
  fieldsOf,
  type GuardedFetch,
  type ModuleContext,
  messageOf,
  type Question,
  type Run,
  type Storage,
} from 'agent-host'
import { type OAuthConfig, type SignedIn, SignInProvider } from './sign-in-provider.ts'

export interface McpSignInOptions {
  /** Name of the server in the config. */
  readonly server: string
  readonly url: string
  readonly oauth: OAuthConfig
  readonly context: Pick<ModuleContext, 'callbackUrl' | 'log' | 'seal' | 'unseal'>
  readonly storage: Storage
  /** For addresses that the server names. */
  readonly fetch: GuardedFetch
  /** Maximum time of a request of `fetch`, in milliseconds. */
  readonly timeoutMs: number
}

/** Sign-in that waits for a person, with the client that it was begun by: several may wait at once. Kept by the digest of its `state`. */
interface OpenSignIn extends Pick<SignedIn, 'client' | 'discovery'> {
  /** Tool call that waits for it. */
  readonly callId: string | undefined
  readonly verifier: string
  /** Unix milliseconds. */
  readonly startedAt: number
}

/** Sign-in that a call of a run asks for. */
interface AskedSignIn {
  readonly begin: () => Promise<Question>
  readonly done: Promise<void>
}

const KEPT_MS = 24 * 60 * 60 * 1000
const MAX_OPEN = 1000
/** Runs whose sign-ins are remembered. */
const MAX_ASKED = 100
const LOOK_AGAIN_MS = 50

/** Returns true for an error of a call that needs a person to sign in first, wherever it was thrown: also where a renewed token is refused. */
export function needsSignIn(error: unknown): boolean {
  const isRefusal = (cause: unknown) => fieldsOf(cause).code === SdkErrorCode.ClientHttpAuthentication
  return causesOf(error).some((cause) => cause instanceof SignInNeeded || isRefusal(cause))
}

/** Error of a call that needs a person to sign in first. */
export class SignInNeeded extends Error {
  constructor(server: string) {
    super(`The MCP server '${server}' needs a sign-in`)
    this.name = 'SignInNeeded'
  }
}

/**
 * Sign-in of one tenant at one MCP server (MCP 2026-07-28, authorization: OAuth 2.1 with PKCE). Tokens and everything that they were got with are
 * sealed in the storage of the module, so that all servers of a store have them.
 */
export class McpSignIn implements AuthProvider {
  readonly #options: McpSignInOptions
  /** Latest run of the tenant: records are kept for its tenant. */
  #run: Run
  /** Token of the latest request. */
  #used: string | undefined
  #renewing: Promise<void> | undefined
  /** By the ids of the runs. */
  readonly #asked = new Map<string, AskedSignIn>()

  constructor(options: McpSignInOptions, run: Run) {
    this.#options = options
    this.#run = run
  }

  /** Has records and tokens read for this run from now on. Its tenant is the same. */
  use(run: Run): void {
    this.#run = run
  }

  async token(): Promise<string | undefined> {
    this.#used = (await this.#read()).signedIn.tokens?.access_token
    return this.#used
  }

  /** Tools that the server listed last for the tenant; undefined before the first sign-in. */
  async knownTools(): Promise<readonly Tool[] | undefined> {
    return (await this.#options.storage.get(this.#toolsKey, this.#run)) as readonly Tool[] | undefined
  }

  /** A model is offered them while the token does not count, and the call asks for the sign-in. */
  async noteTools(tools: readonly Tool[]): Promise<void> {
    await this.#options.storage.set(this.#toolsKey, tools, this.#run)
  }

  /**
   * Called when the server refuses the token: another server of the store may have a newer one, or it is refreshed.
   *
   * @throws SignInNeeded
   */
  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    await response.body?.cancel()
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
  }

  /**
   * Has the person behind a run sign in: the run waits, and continues here with the answer. Call it inside a tool. Calls of one run ask once.
   *
   * @throws Error when the person or the authorization server refuses
   */
  async ask(run: Run): Promise<void> {
    this.#run = run
    const first = this.#asked.get(run.id)
    if (first) return this.#askWith(first, run)
    let question: Promise<Question> | undefined
    const begin = () => {
      question ??= this.#begin(run).catch((error: unknown) => {
        this.#asked.delete(run.id)
        throw error
      })
      return question
    }
    const done = run.ask(begin).then((answer) => this.#finish(toQuery(String(answer)), run))
    this.#keep(run.id, { begin, done })
    await done
    this.#asked.delete(run.id)
  }

  /** Waits with another call of the run, in this process or for the run that continues. */
  async #askWith({ begin, done }: AskedSignIn, run: Run): Promise<void> {
    await done.catch(async (error: unknown) => {
      if (fieldsOf(error).name !== 'RunWaits') throw error
      await run.ask(begin)
    })
  }

  /** One that a person has refused stays: the next call of the run asks no second time. */
  #keep(runId: string, asked: AskedSignIn): void {
    const [oldest] = this.#asked.keys()
    if (oldest !== undefined && this.#asked.size >= MAX_ASKED) this.#asked.delete(oldest)
    this.#asked.set(runId, asked)
  }

  /** Refreshes the tokens, or waits until the server of the store that does so has ended. */
  async #renew(): Promise<void> {
    let [claimed, sinceMs] = [undefined as unknown, 0]
    for (;;) {
      const { signedIn, sealed } = await this.#read()
      const { tokens } = signedIn
      const isClaimed = signedIn.refresh === 'under way'
      if (tokens && tokens.access_token !== this.#used) return
      if (isClaimed && sealed !== claimed) [claimed, sinceMs] = [sealed, performance.now()]
      if (isClaimed && performance.now() - sinceMs < this.#claimMs) await wait(LOOK_AGAIN_MS)
      else {
        if (!tokens?.refresh_token) return this.#drop(sealed, signedIn)
        const claim = await this.#seal({ ...signedIn, refresh: 'under way' })
        if (await this.#replace(sealed, claim)) return this.#refresh(claim, signedIn, tokens.refresh_token)
      }
    }
  }

  /** Time after which a server that refreshes counts as gone; its request ends sooner. */
  get #claimMs(): number {
    return 1.5 * this.#options.timeoutMs
  }

  /** @param claim record that other servers leave alone, unless a person signs in or this takes too long */
  async #refresh(claim: string, signedIn: SignedIn, refreshToken: string): Promise<void> {
    const { server, fetch } = this.#options
    const { tokens, discovery } = signedIn
    const provider = new SignInProvider(this.#options, signedIn)
    // The secret of the config may be another than at the sign-in. A client of another id is none of this authorization server.
    const known = provider.clientInformation()
    const client = known?.client_id === signedIn.client?.client_id ? known : signedIn.client
    if (!client || !discovery) return this.#drop(claim, signedIn)
    try {
      const fresh = await refreshAuthorization(discovery.authorizationServerUrl, {
        metadata: discovery.authorizationServerMetadata,
        clientInformation: client,
        refreshToken,
        resource: discovery.resourceMetadata?.resource,
        fetchFn: fetch,
      })
      provider.saveTokens({ ...tokens, ...fresh })
      await this.#replace(claim, await this.#seal({ client, discovery, tokens: provider.signedIn.tokens }))
    } catch (error) {
      if (isRefused(error)) return this.#drop(claim, signedIn)
      // The refresh token may be spent; many authorization servers take it once more for a while.
      await this.#replace(claim, await this.#seal({ ...signedIn, refresh: 'broken off' }))
      throw new Error(`'${server}' could not be asked for a new token: ${messageOf(error)}`)
    }
  }

  /** Forgets tokens that no longer count, unless others are there by now. */
  async #drop(sealed: unknown, signedIn: SignedIn): Promise<void> {
    const lost = signedIn.refresh ? 'renewing the last sign-in broke off' : 'the last sign-in is no longer accepted'
    const left = { ...withoutTokens(signedIn), lost }
    if (sealed !== undefined && !(await this.#replace(sealed, await this.#seal(left)))) return
    throw new SignInNeeded(this.#options.server)
  }

  /** Registers this client where the server wants that, and asks with the address of the sign-in. */
  async #begin(run: Run): Promise<Question> {
    const { storage, url: serverUrl, fetch, oauth, server } = this.#options
    await this.#forgetOld()
    const { signedIn, sealed } = await this.#read()
    const provider = new SignInProvider(this.#options, signedIn)
    try {
      await auth(provider, { serverUrl, fetchFn: fetch, forceReauthorization: true, scope: oauth.scope })
    } catch (cause) {
      throw new Error(`The sign-in at '${server}' cannot begin: ${messageOf(cause)}`, { cause })
    }
    const { client } = provider.signedIn
    // The next sign-in needs no new client. Tokens that are there by now stay.
    if (!signedIn.tokens) await this.#replace(sealed, await this.#seal({ ...signedIn, client }))
    const { state, url, verifier } = provider.open(server)
    const open = { callId: run.toolCallId, verifier, ...withoutTokens(provider.signedIn), startedAt: Date.now() }
    await storage.set(this.#openKey(state), await this.#seal(open), run)
    const { lost } = signedIn
    return {
      message: `Sign in to '${server}' ${lost === undefined ? 'to go on' : `again to go on, since ${lost}`}: ${url}`,
      schema: { type: 'string', minLength: 1, description: 'Address at which the sign-in ended, or its query.' },
      url,
    }
  }

  /** Exchanges the code for tokens, once. */
  async #finish(query: URLSearchParams, run: Run): Promise<void> {
    const { storage, url, fetch, server } = this.#options
    const refuse = (reason: string, cause?: unknown) =>
      new Error(`The sign-in at '${server}' failed: ${reason}`, { cause })
    const key = this.#openKey(query.get('state') ?? '')
    const sealed = await storage.get(key, run)
    const open = await this.#unseal<OpenSignIn>(sealed)
    if (!open || open.callId !== run.toolCallId) {
      throw refuse('the answer belongs to another sign-in, or to one that has ended.')
    }
    if (!(await storage.replace(key, sealed, undefined, run))) throw refuse('it has ended before.')
    const error = query.get('error')
    if (error !== null) throw refuse(query.get('error_description') ?? error)
    const code = query.get('code')
    if (code === null) throw refuse('the answer has no code.')
    const provider = new SignInProvider(this.#options, withoutTokens(open), open.verifier)
    try {
      const iss = query.get('iss') ?? undefined
      await auth(provider, { serverUrl: url, fetchFn: fetch, authorizationCode: code, iss })
    } catch (cause) {
      throw refuse(messageOf(cause), cause)
    }
    await storage.set(this.#key, await this.#seal(provider.signedIn), run)
  }

  get #toolsKey(): string {
    return `tools/${this.#options.server}`
  }

  get #key(): string {
    return `sign-in/${this.#options.server}`
  }

  /** Ids of calls are a model's: several runs may use the same one at once, and `state` is of one sign-in. */
  #openKey(state: string): string {
    return `open-sign-in/${this.#options.server}/${hash('sha256', state)}`
  }

  async #read(): Promise<{ readonly signedIn: SignedIn; readonly sealed: unknown }> {
    const sealed = await this.#options.storage.get(this.#key, this.#run)
    return { signedIn: (await this.#unseal<SignedIn>(sealed)) ?? {}, sealed }
  }

  /** @returns false when the record is another by now */
  #replace(sealed: unknown, next: string): Promise<boolean> {
    return this.#options.storage.replace(this.#key, sealed, next, this.#run)
  }

  #seal(value: SignedIn | OpenSignIn): Promise<string> {
    return this.#options.context.seal(JSON.stringify({ ...value, url: this.#options.url }), this.#run)
  }

  /** Texts that another key sealed, or that are of another address of the server, count as absent: the person signs in again. */
  async #unseal<T extends object>(sealed: unknown): Promise<T | undefined> {
    const text = typeof sealed === 'string' ? await this.#options.context.unseal(sealed, this.#run) : undefined
    if (text === undefined) return undefined
    // Texts of earlier versions have no address.
    const { url = this.#options.url, ...value } = JSON.parse(text)
    return url === this.#options.url ? value : undefined
  }

  async #forgetOld(): Promise<void> {
    const { storage } = this.#options
    const prefix = `open-sign-in/${this.#options.server}/`
    for (const { key, value } of await storage.list({ prefix, limit: MAX_OPEN }, this.#run)) {
      const open = await this.#unseal<OpenSignIn>(value)
      if (!open || open.startedAt < Date.now() - KEPT_MS) await storage.delete(key, this.#run)
    }
  }
}

function withoutTokens({ client, discovery }: Pick<SignedIn, 'client' | 'discovery'>): SignedIn {
  return { client, discovery }
}

/** The query of an address, or the text itself: people paste either. */
function toQuery(answer: string): URLSearchParams {
  return new URLSearchParams(answer.slice(answer.indexOf('?') + 1).replace(/#.*$/, ''))
}

/** Returns true where the authorization server itself says that the token no longer counts (RFC 6749, section 5.2). */
function isRefused(error: unknown): boolean {
  const refusals: readonly string[] = [
    OAuthErrorCode.InvalidGrant,
    OAuthErrorCode.InvalidClient,
    OAuthErrorCode.UnauthorizedClient,
  ]
  return error instanceof OAuthError && refusals.includes(error.code)
}
