import { stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { FollowedFile } from '../../followed-file.ts'
import type { Limits } from '../../run/state/run-quota.ts'
import { isUpgrade } from '../streams/upgrade-route.ts'
import type { Key } from './key.ts'
import { describeDoubts, type ReadKeys, readKeysFile } from './keys-file.ts'

/** A key is refused, and what it has opened ends, at most this much after its line has gone, or its time is over. */
const LOOK_EVERY_MS = 500

/** An open connection, and the key it was opened with. */
interface Opened {
  readonly key: Key
  readonly socket: Socket
}

/** Part of a file of keys that servers go by. */
export type KeysAndTenants = Pick<ReadKeys<Key>, 'keys' | 'tenants'>

/** Things beside their own file that keys are checked against. */
export interface Surroundings {
  /** @throws Error for keys that cannot be used beside others, or here */
  readonly check: (read: KeysAndTenants) => void | Promise<void>
  /** Returns the ids of the agents that there are. */
  readonly listAgents: () => readonly string[]
  /** Told of the keys that are in force, whenever that may have changed. */
  readonly noteKeys?: ((used: KeysAndTenants) => void) | undefined
  /** Returns warnings of keys that triggers and schedules name, and that are not in force. */
  readonly listMissing: () => readonly string[]
}

type KeysLog = Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>

/**
 * The keys of the file of keys, as it is now. A file that is gone or wrong opens nothing new: the last good one stays. A key whose line
 * goes or changes, or whose time is over, opens nothing more, and what it has opened ends.
 */
export class FollowedKeys {
  readonly #path: string
  readonly #projectDir: string
  #file: FollowedFile | undefined
  readonly #opened = new Set<Opened>()
  #keys: ReadonlyMap<string, Key>
  /** Limits of tenants. */
  #tenants: ReadonlyMap<string, Limits>
  /** Warnings, as they were last given. */
  #warned = ''

  private constructor(path: string, projectDir: string, { keys, tenants }: ReadKeys<Key>) {
    this.#path = path
    this.#projectDir = projectDir
    this.#keys = byDigest(keys)
    this.#tenants = tenants
  }

  /**
   * @param path absolute
   * @throws as {@link readKeysFile}
   */
  static async read(path: string, projectDir: string): Promise<FollowedKeys> {
    return new FollowedKeys(path, projectDir, await readKeysFile(path, projectDir))
  }

  /** All keys of the file, also those whose time is over. */
  get all(): readonly Key[] {
    return [...this.#keys.values()]
  }

  /** The file, as it is in use. */
  get used(): KeysAndTenants {
    return { keys: this.all, tenants: this.#tenants }
  }

  /** Limits of a tenant; undefined for none. */
  limitsOf(tenant: string): Limits | undefined {
    return this.#tenants.get(tenant)
  }

  /** Returns a key that is in force. */
  named(tenant: string, name: string): Key | undefined {
    return this.all.find((key) => key.principal.name === name && key.principal.tenant === tenant && !isOver(key))
  }

  /** See {@link FollowedFile.problem}. */
  get problem(): string | undefined {
    return this.#file?.problem
  }

  get #name(): string {
    return relative(this.#projectDir, this.#path)
  }

  /** @param digest SHA-256 of a key, in hex */
  find(digest: string): Key | undefined {
    const key = this.#keys.get(digest)
    return key && !isOver(key) ? key : undefined
  }

  /** Ends the connection of a request when its key no longer holds. */
  guard(key: Key, request: FastifyRequest, reply: FastifyReply): void {
    const opened = { key, socket: request.raw.socket }
    this.#opened.add(opened)
    const end = isUpgrade(request) ? opened.socket : reply.raw
    end.once('close', () => this.#opened.delete(opened))
  }

  /**
   * Follows the file from now on.
   *
   * @returns a function that ends it
   */
  follow(log: KeysLog, surroundings: Surroundings): () => void {
    const file = new FollowedFile(this.#path, this.#name, log, () => this.#readAgain(log, surroundings))
    this.#file = file
    void file.follow()
    const clock = setInterval(() => this.#endOutdated(), LOOK_EVERY_MS).unref()
    void this.#warnOfReaders(log)
    return () => {
      file.close()
      clearInterval(clock)
    }
  }

  async #readAgain(log: KeysLog, { check, noteKeys, listAgents, listMissing }: Surroundings): Promise<void> {
    const { keys, tenants, doubts } = await readKeysFile(this.#path, this.#projectDir)
    const before = this.all
    // Keys that were removed end at once, even if another line cannot be used.
    const there = new Set(keys.map(({ digest }) => digest))
    this.#keys = byDigest(before.filter(({ digest }) => there.has(digest)))
    this.#endOutdated()
    noteKeys?.(this.used)
    await check({ keys, tenants })
    this.#keys = byDigest(keys, this.#keys)
    this.#tenants = tenants
    this.#endOutdated()
    noteKeys?.(this.used)
    if (!isDeepStrictEqual(before, this.all)) log.info(`${this.#name} has changed: ${describeCount(keys.length)}.`)
    this.#warn([...describeDoubts(doubts, listAgents()), ...listMissing()], log)
  }

  /** Once, until there are others. */
  #warn(lines: readonly string[], log: KeysLog): void {
    const text = lines.join('\n')
    if (text !== this.#warned) for (const line of lines) log.warn(line)
    this.#warned = text
  }

  #endOutdated(): void {
    for (const { key, socket } of this.#opened) if (this.find(key.digest) !== key) socket.destroy()
  }

  async #warnOfReaders(log: KeysLog): Promise<void> {
    // The next look says so if the file has gone meanwhile.
    const { mode } = await stat(this.#path).catch(() => ({ mode: 0 }))
    if ((mode & 0o007) === 0 || process.platform === 'win32') return
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    log.warn(`${this.#name} can be read or written by everyone on this machine (${shown}): chmod o= takes that back.`)
  }
}

function describeCount(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`
}

function isOver({ expiresAt }: Key): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now()
}

/** A key whose line is as before is the same object: what it has opened stays. */
function byDigest(keys: readonly Key[], before: ReadonlyMap<string, Key> = new Map()): ReadonlyMap<string, Key> {
  const kept = keys.map((key) => {
    const known = before.get(key.digest)
    return known && isDeepStrictEqual(known, key) ? known : key
  })
  return new Map(kept.map((key) => [key.digest, key]))
}
