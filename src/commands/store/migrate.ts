import { Flags } from '@oclif/core'
import { BaseCommand } from '../base-command.ts'
import { readLocation, storeFlags } from './store-location.ts'

export default class StoreMigrate extends BaseCommand {
  static override description = 'Updates the layout of the store, as servers do when they start.'
  static override examples = ['agent-host store migrate --store postgres://agents@db/agents --dry-run']
  static override flags = {
    ...storeFlags(),
    'dry-run': Flags.boolean({ description: 'Only print the missing steps' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(StoreMigrate)
    this.requireProject()
    const [{ openStore, pendingMigrations }, { claimFormat }] = await Promise.all([
      import('../../store/open-store.ts'),
      import('../../store/store-format.ts'),
    ])
    const location = readLocation(flags, undefined, (message) => this.warn(message))
    const pending = await pendingMigrations(location)
    if (pending.length === 0) return this.log('The layout of the store is up to date.')
    if (!flags['dry-run']) await (await openStore(location, claimFormat)).close()
    for (const title of pending) this.log(`${flags['dry-run'] ? 'Missing' : 'Added'}: ${title}`)
  }
}
