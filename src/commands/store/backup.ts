import { existsSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Args } from '@oclif/core'
import { badOption } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { readLocation, requireEmbedded, requireFile, storeFlags } from './store-location.ts'

export default class StoreBackup extends BaseCommand {
  static override description = 'Writes a consistent copy of the stored responses to a file, even while servers run.'
  static override examples = ['agent-host store backup responses-backup.db']
  static override args = { file: Args.string({ description: 'File to write; it must not exist', required: true }) }
  static override flags = storeFlags()

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(StoreBackup)
    this.requireProject()
    const source = requireEmbedded(readLocation(flags))
    const file = resolve(this.calledIn, args.file)
    if (existsSync(file)) throw badOption(`${file} already exists; nothing changed.`)
    requireFile(source)
    const { SqliteStore } = await import('../../store/sqlite/sqlite-store.ts')
    const store = await SqliteStore.open(source)
    try {
      await store.backup(file)
      await chmod(file, 0o600)
    } finally {
      await store.close()
    }
    this.log(`Created ${file}.`)
  }
}
