import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { KeyvStoreAdapter } from 'keyv'
import { badOption, HostError, hasCode, messageOf } from '../errors.ts'
import { CheckedStore, inTime } from './checked-store.ts'
import { importPeer } from './import-peer.ts'
import type { PostgresPackage } from './postgres/postgres-store.ts'
import type { Prepare, RecordStore } from './record-store.ts'
import { describeRedisUrl, readRedisUrl } from './redis/redis-location.ts'
import type { RedisPackage } from './redis/redis-store.ts'
import { SqliteStore } from './sqlite/sqlite-store.ts'
import { OtherFormat } from './store-format.ts'

export interface StoreLocation {
  /** `sqlite`, the embedded one, `keyv-sqlite:<path>`, `postgres://...` or `redis://...`. */
  readonly store: string
  /** Absolute: the embedded store's folder. */
  readonly dir: string
  /** Absolute: base of relative paths and optional packages. */
  readonly projectDir: string
  /** Receives warnings for the operator. */
  readonly warn?: (message: string) => void
}

/** A kind of stores: how one of it is opened, and described without its secrets. */
interface StoreKind {
  readonly describe: (location: StoreLocation) => string
  readonly open: (location: StoreLocation, prepare?: Prepare) => Promise<RecordStore>
  /** Returns the titles of the steps of the layout that are missing. */
  readonly pendingMigrations: (location: StoreLocation) => Promise<string[]>
  /** As the capability of its stores, known before one is opened. */
  readonly isMultiWriter: boolean
  /** Servers on other machines reach it, too. */
  readonly isRemote: boolean
  readonly suggestion: string
  /** Says how to keep one of another format, and begin another. */
  readonly setAside: string
}

/** Larger files are not checked when they are opened: SQLite would need seconds. */
const MAX_CHECKED_BYTES = 256 * 1024 * 1024

/** Name of the embedded store's file. */
const STORE_FILE = 'responses.db'

/**
 * Opens the store that the options name.
 *
 * @param prepare `claimFormat` for who reads its records; those who copy and check them take every format
 * @throws HostError `STORE_UNAVAILABLE` naming the file or server, `OPTION_INVALID` for an invalid `--store`
 */
export async function openStore(location: StoreLocation, prepare?: Prepare): Promise<RecordStore> {
  return new CheckedStore(await openEngine(location, prepare))
}

/** Opens the store without its checks: for those who add them. */
export function openEngine(location: StoreLocation, prepare?: Prepare): Promise<RecordStore> {
  return attempt(location, (kind) => kind.open(location, prepare))
}

/**
 * Returns the titles of the steps of the layout that the store lacks; `openStore` does them.
 *
 * @throws HostError as `openStore`
 */
export function pendingMigrations(location: StoreLocation): Promise<string[]> {
  return attempt(location, (kind) => kind.pendingMigrations(location))
}

/**
 * Refuses a store that takes one server alone.
 *
 * @param user command or option that has several processes share the store
 * @throws HostError `OPTION_INVALID`
 */
export function requireShared(store: string, user: string): void {
  const kind = kindOf(store)
  if (STORE_KINDS[kind].isMultiWriter) return
  throw badOption(`${user} needs a store that several processes can share, and ${kind} is for one.`, {
    suggestions: ['Choose --store sqlite (processes of one machine), postgres://... or redis://...'],
  })
}

/** Returns true for a store that servers on several machines can share. */
export function isRemote(store: string): boolean {
  return STORE_KINDS[kindOf(store)].isRemote
}

/** Absolute path of the embedded store's file; undefined for another kind of store. */
export function embeddedFile({ store, dir }: StoreLocation): string | undefined {
  return store === 'sqlite' ? join(dir, STORE_FILE) : undefined
}

async function attempt<T>(location: StoreLocation, work: (kind: StoreKind) => Promise<T>): Promise<T> {
  const kind = STORE_KINDS[kindOf(location.store)]
  try {
    return await work(kind)
  } catch (error) {
    if (hasCode(error, 'OPTION_INVALID')) throw error
    const cause = error instanceof HostError ? error.cause : error
    const where = kind.describe(location)
    if (cause instanceof OtherFormat) throw refuse(where, cause, kind.setAside)
    throw new HostError('STORE_UNAVAILABLE', `The store ${where} cannot be opened: ${messageOf(cause)}`, {
      suggestions: [kind.suggestion],
      cause,
    })
  }
}

function refuse(where: string, cause: OtherFormat, setAside: string): HostError {
  const message = `The store ${where} ${cause.message}; nothing in it was changed. Set it aside: ${setAside}.`
  return new HostError('STORE_UNAVAILABLE', message, { cause })
}

const FILE_SUGGESTION = 'Check that the folder can be written, and that the file is a SQLite database.'
const SERVER_SUGGESTION = 'Check that the server runs, and that the URL of --store is right.'

const STORE_KINDS: Readonly<Record<'sqlite' | 'keyv-sqlite' | 'postgres' | 'redis', StoreKind>> = {
  sqlite: {
    describe: ({ dir }) => join(dir, STORE_FILE),
    open: openEmbedded,
    pendingMigrations: ({ dir }) => SqliteStore.pendingMigrations(join(dir, STORE_FILE)),
    isMultiWriter: true,
    isRemote: false,
    suggestion: FILE_SUGGESTION,
    setAside: 'rename its folder, or choose another one with --responses-dir',
  },
  'keyv-sqlite': {
    describe: keyvFile,
    open: openKeyv,
    pendingMigrations: async () => [],
    isMultiWriter: false,
    isRemote: false,
    suggestion: FILE_SUGGESTION,
    setAside: 'rename the file, or choose another one with --store',
  },
  postgres: {
    describe: ({ store }) => withoutSecrets(store),
    open: async (location, prepare) => {
      const { PostgresStore, readPostgresUrl } = await import('./postgres/postgres-store.ts')
      return PostgresStore.open(await importPostgres(location), readPostgresUrl(location.store), prepare)
    },
    pendingMigrations: async (location) => {
      const { PostgresStore, readPostgresUrl } = await import('./postgres/postgres-store.ts')
      return PostgresStore.pendingMigrations(await importPostgres(location), readPostgresUrl(location.store))
    },
    isMultiWriter: true,
    isRemote: true,
    suggestion: SERVER_SUGGESTION,
    setAside: 'choose another schema, --store postgres://...?schema=<name>',
  },
  redis: {
    describe: ({ store }) => describeRedisUrl(store),
    open: async ({ store, projectDir, warn = () => {} }, prepare) => {
      const location = readRedisUrl(store)
      const { RedisStore } = await import('./redis/redis-store.ts')
      const redis = await importPeer<RedisPackage>('ioredis', projectDir, '--store redis')
      return RedisStore.open(redis, location, warn, prepare)
    },
    pendingMigrations: async () => [],
    isMultiWriter: true,
    isRemote: true,
    suggestion: SERVER_SUGGESTION,
    setAside: 'choose another prefix, --store redis://...?prefix=<name>',
  },
}

async function openEmbedded({ dir, warn = () => {} }: StoreLocation, prepare?: Prepare): Promise<RecordStore> {
  const file = join(dir, STORE_FILE)
  const store = await SqliteStore.open(file, prepare)
  if (statSync(file).size > MAX_CHECKED_BYTES) return store
  const [problem] = await store.quickCheck().catch((error) => [messageOf(error)])
  if (problem !== undefined) {
    warn(
      `${file} is damaged: ${problem}. Restore a backup (agent-host store restore), or see all of it: agent-host store check`,
    )
  }
  return store
}

/** Returns the kind of a checked `--store`. */
function kindOf(store: string): keyof typeof STORE_KINDS {
  if (store === 'sqlite') return 'sqlite'
  if (store.startsWith('keyv-sqlite:')) return 'keyv-sqlite'
  return store.startsWith('redis') ? 'redis' : 'postgres'
}

function importPostgres({ projectDir }: StoreLocation): Promise<PostgresPackage> {
  return importPeer('pg', projectDir, '--store postgres')
}

async function openKeyv(location: StoreLocation, prepare?: Prepare): Promise<RecordStore> {
  const { KeyvStore } = await import('./keyv/keyv-store.ts')
  const { KeyvSqlite } = await importPeer<KeyvSqlitePackage>('@keyv/sqlite', location.projectDir, '--store keyv-sqlite')
  const adapter = new KeyvSqlite({ uri: `sqlite://${keyvFile(location)}` })
  const rows = () => adapter.query('SELECT key FROM keyv')
  const store = await inTime(KeyvStore.open(adapter, async () => (await rows()).map(({ key }) => key)))
  await inTime(prepare?.(store) ?? Promise.resolve()).catch(async (error) => {
    await store.close()
    throw error
  })
  return store
}

interface KeyvSqlitePackage {
  readonly KeyvSqlite: new (options: {
    uri: string
  }) => KeyvStoreAdapter & {
    query(sql: string): Promise<{ readonly key: string }[]>
  }
}

function keyvFile({ store, projectDir }: StoreLocation): string {
  return resolve(projectDir, store.slice('keyv-sqlite:'.length))
}

function withoutSecrets(store: string): string {
  const { protocol, host, pathname } = new URL(store)
  return `${protocol}//${host}${pathname}`
}
