import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { KeyvStoreAdapter } from 'keyv'
import { HostError, messageOf } from '../errors.ts'
import { CheckedStore, inTime } from './checked-store.ts'
import { KeyvStore } from './keyv/keyv-store.ts'
import type { RecordStore } from './record-store.ts'
import { SqliteStore } from './sqlite/sqlite-store.ts'

export interface StoreLocation {
  /** `sqlite`, the embedded one, or `keyv-sqlite:<path>`. */
  readonly store: string
  /** Absolute: the embedded store's folder. */
  readonly dir: string
  /** Absolute: what relative paths and optional packages belong to. */
  readonly projectDir: string
}

/** Name of the embedded store's file. */
export const STORE_FILE = 'responses.db'

/**
 * Opens the store that the options name.
 *
 * @throws HostError `STORE_UNAVAILABLE` naming the file, `OPTION_INVALID` for an unknown kind of store
 */
export async function openStore({ store, dir, projectDir }: StoreLocation): Promise<RecordStore> {
  const [kind, path] = splitOnce(store, ':')
  const file = kind === 'sqlite' ? join(dir, STORE_FILE) : resolve(projectDir, path)
  try {
    if (kind === 'sqlite') return new CheckedStore(await SqliteStore.open(file))
    return new CheckedStore(await inTime(KeyvStore.open(await openKeyvSqlite(file, projectDir))))
  } catch (cause) {
    if (cause instanceof HostError && cause.code === 'OPTION_INVALID') throw cause
    throw new HostError('STORE_UNAVAILABLE', `The store ${file} cannot be opened: ${messageOf(cause)}`, {
      suggestions: ['Check that the folder can be written, and that the file is a SQLite database.'],
      cause,
    })
  }
}

/** An optional peer: it is taken from the project, or from where agent-host is installed. */
async function openKeyvSqlite(file: string, projectDir: string): Promise<KeyvStoreAdapter> {
  const { createRequire } = await import('node:module')
  const name = '@keyv/sqlite'
  for (const base of [join(projectDir, 'package.json'), import.meta.url]) {
    let entry: string
    try {
      entry = createRequire(base).resolve(name)
    } catch {
      continue
    }
    const { KeyvSqlite } = await import(pathToFileURL(entry).href)
    return new KeyvSqlite({ uri: `sqlite://${file}` })
  }
  throw new HostError('OPTION_INVALID', `--store keyv-sqlite needs the package ${name}, which is not installed.`, {
    suggestions: [`Install it in the project: npm install ${name}`, 'Or leave --store out: SQLite is built in.'],
  })
}

function splitOnce(text: string, separator: string): [string, string] {
  const cut = text.indexOf(separator)
  return cut === -1 ? [text, ''] : [text.slice(0, cut), text.slice(cut + 1)]
}
