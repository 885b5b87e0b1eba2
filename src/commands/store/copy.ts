import { Args } from '@oclif/core'
import { BaseCommand } from '../base-command.ts'
import { readLocation, requireFile, storeFlags } from './store-location.ts'

export default class StoreCopy extends BaseCommand {
  static override description =
    'Copies all stored responses into an empty store of another kind. Stop the servers that write to the first one.'
  static override examples = ['agent-host store copy sqlite postgres://agents@db/agents']
  static override args = {
    from: Args.string({ description: 'Store to read: a value of --store', required: true }),
    to: Args.string({ description: 'Empty store to write: a value of --store', required: true }),
  }
  static override flags = storeFlags(['responses-dir'])

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(StoreCopy)
    this.requireProject()
    const [{ openStore, embeddedFile }, { copyStore }] = await Promise.all([
      import('../../store/open-store.ts'),
      import('../../store/walk-store.ts'),
    ])
    const warn = (message: string) => this.logToStderr(message)
    const source = readLocation(flags, args.from, warn)
    const file = embeddedFile(source)
    if (file !== undefined) requireFile(file)
    const from = await openStore(source)
    try {
      const to = await openStore(readLocation(flags, args.to, warn))
      try {
        this.log(`Copied ${await copyStore(from, to)} records.`)
      } finally {
        await to.close()
      }
    } finally {
      await from.close()
    }
  }
}
