import { existsSync } from 'node:fs'
import type { Interfaces } from '@oclif/core'
import { badOption, HostError, messageOf } from '../../errors.ts'
import { resolveServerOptions, SERVER_OPTIONS } from '../../server/options/options.ts'
import { embeddedFile, type StoreLocation } from '../../store/open-store.ts'
import type { SqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { pickServerFlags } from '../server/server-flags.ts'

const { store, responsesDir } = SERVER_OPTIONS

/** Flags that name a store, as those of `serve`. */
export function storeFlags(names: readonly string[] = [store.flag, responsesDir.flag]): Interfaces.FlagInput {
  return pickServerFlags(names)
}

/**
 * Returns the store that the flags name.
 *
 * @param kind instead of `--store`
 * @throws HostError `OPTION_INVALID`
 */
export function readLocation(
  flags: Readonly<Record<string, unknown>>,
  kind: unknown = flags[store.flag],
  warn: (message: string) => void = () => {},
): StoreLocation {
  const options = resolveServerOptions({ store: kind, responsesDir: flags[responsesDir.flag] })
  return { store: options.store, dir: options.responsesDir, projectDir: options.projectDir, warn }
}

/** @throws HostError `STORE_UNAVAILABLE` when the file of a store does not exist */
export function requireFile(file: string): void {
  if (existsSync(file)) return
  throw new HostError('STORE_UNAVAILABLE', `${file} does not exist: nothing is stored yet.`)
}

/**
 * Opens the file of an embedded store, whatever its format.
 *
 * @throws HostError `STORE_UNAVAILABLE` when it does not exist, or is no database
 */
export async function openFile(file: string): Promise<SqliteStore> {
  requireFile(file)
  const { SqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
  return SqliteStore.open(file).catch((cause) => {
    throw new HostError('STORE_UNAVAILABLE', `${file} cannot be opened: ${messageOf(cause)}`, { cause })
  })
}

/**
 * Returns the file of the embedded store.
 *
 * @throws HostError `OPTION_INVALID` for a store of another kind
 */
export function requireEmbedded(location: StoreLocation): string {
  const file = embeddedFile(location)
  if (file !== undefined) return file
  throw badOption('Only the embedded store (sqlite) is backed up and restored by agent-host.', {
    suggestions: [
      'PostgreSQL: pg_dump --schema=agent_host. Redis: redis-cli --rdb <file>.',
      'Or copy it into another store: agent-host store copy <from> <to>',
    ],
  })
}
