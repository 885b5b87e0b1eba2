import type { FastifyBaseLogger, onRequestHookHandler } from 'fastify'
import { badOption } from '../../errors.ts'
import { makeDoor, type ReadCredentials } from './door.ts'
import type { FollowedKeys, KeysAndTenants, Surroundings } from './followed-keys.ts'
import type { Key } from './key.ts'
import type { Origins } from './origins.ts'
import { KEY_SCOPES, makePrincipal, type Visitor } from './principal.ts'
import type { Tokens } from './tokens.ts'
import type { RefuseWrongKey } from './wrong-keys.ts'

/** An adapter with the keys that are its own. */
export interface KeyedAdapter {
  readonly name: string
  readonly keys: readonly Key[]
  readonly readCredentials?: ReadCredentials | undefined
}

export interface DoorsOptions {
  /** The file of keys; undefined where there is none. */
  readonly fileKeys: FollowedKeys | undefined
  readonly tokens?: Tokens | undefined
  readonly origins: Origins
  readonly refuseWrongKey: RefuseWrongKey
}

/** The doors of the adapters of one server: a file of keys closes all of them, keys of its own close that of an adapter. */
export class Doors {
  readonly #adapters: readonly KeyedAdapter[]
  readonly #options: DoorsOptions
  /** True when a key names scopes: then a decision needs one. */
  readonly #areScoped: boolean

  /** @throws HostError `OPTION_INVALID` for a key that stands in the file and in an option */
  constructor(adapters: readonly KeyedAdapter[], options: DoorsOptions) {
    this.#adapters = adapters
    this.#options = options
    this.#areScoped = options.tokens !== undefined || this.#names().length > 0
    this.#refuseShared(options.fileKeys?.all ?? [])
  }

  /** Tells whether requests for an adapter need a key. */
  isClosed({ keys }: KeyedAdapter): boolean {
    const { fileKeys, tokens } = this.#options
    return keys.length > 0 || fileKeys !== undefined || tokens !== undefined
  }

  /** Returns the hook that checks the requests for an adapter. */
  doorOf({ name, keys, readCredentials }: KeyedAdapter): onRequestHookHandler {
    const scopes = KEY_SCOPES.filter((scope) => scope !== 'approve' || !this.#areScoped)
    const anonymous = makePrincipal({ scopes, hasKey: false })
    return makeDoor({ ...this.#options, adapter: name, keys, anonymous, readCredentials })
  }

  /** Visitor of the requests that no door has seen: without any scope where keys name scopes. */
  get unseen(): Visitor {
    const principal = makePrincipal({ scopes: this.#areScoped ? [] : KEY_SCOPES, hasKey: false })
    return { principal, origins: this.#options.origins }
  }

  /** Says what follows from the keys and may surprise. */
  logSurprises(log: Pick<FastifyBaseLogger, 'info' | 'warn'>): void {
    const shared = this.#names((key) => key.principal.tenant === '')
    if (shared.length > 1) log.info(`These keys have no tenant, and share what they store: ${shared.join(', ')}.`)
    const open = this.#adapters.filter((adapter) => !this.isClosed(adapter)).map(({ name }) => name)
    if (!this.#areScoped || open.length === 0) return
    log.warn(`Keys name scopes, so approvals cannot be decided without a key, also not through ${open.join(', ')}.`)
  }

  /**
   * Follows the file of keys, if there is one, until the returned function is called.
   *
   * @param surroundings whose `check` throws for a limited cost that is not known
   */
  follow(log: FastifyBaseLogger, surroundings: Surroundings): () => void {
    const check = async (read: KeysAndTenants) => {
      this.#refuseShared(read.keys)
      await surroundings.check(read)
    }
    return this.#options.fileKeys?.follow(log, { ...surroundings, check }) ?? (() => {})
  }

  #refuseShared(fileKeys: readonly Key[]): void {
    for (const adapter of this.#adapters) refuseShared(adapter, fileKeys)
  }

  #names(isMeant: (key: Key) => boolean = () => true): string[] {
    const keys = [...(this.#options.fileKeys?.all ?? []), ...this.#adapters.flatMap((adapter) => adapter.keys)]
    return [...new Set(keys.filter(isMeant).flatMap(({ principal }) => principal.name ?? []))]
  }
}

function refuseShared({ name, keys }: KeyedAdapter, fileKeys: readonly Key[]): void {
  const other = fileKeys.find(({ digest }) => keys.some((key) => key.digest === digest))
  if (other === undefined) return
  const message = `The key of ${name} is also that of '${other.principal.name}' in the file of keys.`
  throw badOption(message, { suggestions: ['Take it out of one of the two.'] })
}
