import { rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Args } from '@oclif/core'
import { badOption, messageOf, systemCodeOf } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { openFile, readLocation, requireEmbedded, storeFlags } from './store-location.ts'

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
    const store = await openFile(source)
    try {
      createPrivate(file)
      await store.backup(file).catch((error) => {
        rmSync(file, { force: true })
        throw error
      })
    } finally {
      await store.close()
    }
    this.log(`Created ${file}.`)
  }
}

/** Before anything is in it: a copy of all responses is for its owner alone. SQLite fills an empty file. */
function createPrivate(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const problem = systemCodeOf(cause) === 'EEXIST' ? 'already exists' : `cannot be written: ${messageOf(cause)}`
    throw badOption(`${file} ${problem}; nothing changed.`, { cause })
  }
}
