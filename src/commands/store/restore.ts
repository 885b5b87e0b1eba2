import { existsSync } from 'node:fs'
import { copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { badOption, HostError, messageOf } from '../../errors.ts'
import { claimFormat } from '../../store/store-format.ts'
import { BaseCommand } from '../base-command.ts'
import { readLocation, requireEmbedded, storeFlags } from './store-location.ts'

/** First step of the layout: a file without it is not from agent-host. */
const RECORDS_STEP = 'table of records'

export default class StoreRestore extends BaseCommand {
  static override description = 'Replaces the stored responses with a backup. Stop all servers first.'
  static override examples = ['agent-host store restore responses-backup.db --force']
  static override args = { file: Args.string({ description: 'File that `store backup` wrote', required: true }) }
  static override flags = {
    ...storeFlags(),
    force: Flags.boolean({ description: 'Replace the responses that are stored now' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(StoreRestore)
    this.requireProject()
    const target = requireEmbedded(readLocation(flags))
    const backup = resolve(this.calledIn, args.file)
    if (existsSync(target)) await this.#checkReplaceable(target, flags.force === true)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    const copy = `${target}.restored`
    try {
      // Of a restore that was killed.
      await removeFilesBeside(copy)
      await copyBackup(backup, copy)
      await checkCopy(copy, backup)
      await removeFilesBeside(target)
      await rename(copy, target)
    } finally {
      await rm(copy, { force: true })
      await removeFilesBeside(copy)
    }
    this.log(`Restored ${target}.`)
  }

  async #checkReplaceable(target: string, isForced: boolean): Promise<void> {
    if (!isForced) {
      throw badOption(`${target} already exists; nothing changed.`, {
        suggestions: ['Replace the stored responses with --force.'],
      })
    }
    if (!(await isInUse(target))) return
    throw new HostError('STORE_UNAVAILABLE', `A server uses ${target}; nothing changed.`, {
      suggestions: ['Stop it first.'],
    })
  }
}

/** A damaged file is not in use. What a whole one has in its log is in the file afterwards. */
async function isInUse(file: string): Promise<boolean> {
  const { SqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
  const store = await SqliteStore.open(file).catch(() => undefined)
  if (!store) return false
  try {
    return await store.isShared()
  } finally {
    await store.close()
  }
}

async function copyBackup(backup: string, copy: string): Promise<void> {
  if (!existsSync(backup)) throw badOption(`There is no file ${backup}. Nothing changed.`)
  try {
    await copyFile(backup, copy)
  } catch (cause) {
    throw badOption(`${backup} cannot be read; nothing changed: ${messageOf(cause)}`, { cause })
  }
}

async function checkCopy(copy: string, backup: string): Promise<void> {
  const { SqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
  // SQLite takes an empty file for a database without tables; the code below reports other files.
  const missing = await SqliteStore.pendingMigrations(copy).catch((): string[] => [])
  if (missing.includes(RECORDS_STEP)) {
    throw badOption(`${backup} is no backup; nothing changed: it holds no responses`)
  }
  const store = await SqliteStore.open(copy).catch((cause: Error) => {
    throw badOption(`${backup} is no backup; nothing changed: ${cause.message}`, { cause })
  })
  try {
    const [problem] = await store.quickCheck()
    if (problem !== undefined) throw badOption(`${backup} is damaged; nothing changed: ${problem}`)
    await claimFormat(store).catch((cause: Error) => {
      throw badOption(`${backup} ${cause.message}; nothing changed.`, { cause })
    })
  } finally {
    await store.close()
  }
}

/** SQLite would apply the log of one file to another that takes its place. */
async function removeFilesBeside(file: string): Promise<void> {
  for (const name of [`${file}-wal`, `${file}-shm`]) await rm(name, { force: true })
}
