import { HostError } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { openFile, readLocation, storeFlags } from './store-location.ts'

const MAX_SHOWN = 20

export default class StoreCheck extends BaseCommand {
  static override description = 'Reads the whole store, and reports damaged records.'
  static override examples = ['agent-host store check']
  static override flags = storeFlags()

  override async run(): Promise<void> {
    const { flags } = await this.parse(StoreCheck)
    this.requireProject()
    const [{ openStore, embeddedFile }, { checkRecords }, { claimFormat }] = await Promise.all([
      import('../../store/open-store.ts'),
      import('../../store/walk-store.ts'),
      import('../../store/store-format.ts'),
    ])
    const location = readLocation(flags, undefined, (message) => this.logToStderr(message))
    const file = embeddedFile(location)
    const embedded = file === undefined ? undefined : await openFile(file)
    const store = embedded ?? (await openStore(location))
    try {
      const problems = (await embedded?.quickCheck()) ?? []
      const { counts, damaged } = await checkRecords(store)
      problems.push(...damaged.map((key) => `The record '${key}' is damaged.`))
      for (const [name, count] of byName(counts)) this.log(`${String(count).padStart(8)}  ${name}`)
      if (problems.length > 0) throw damageError(problems)
      this.log('Nothing is damaged.')
      // A whole store, too, may be of no use to this version.
      if (counts.size > 0) await claimFormat(store).catch(({ message }: Error) => this.warn(`The store ${message}.`))
    } finally {
      await store.close()
    }
  }
}

/** Names of the kinds of records that users know; all others are indexes and the like. */
const NAMES: Readonly<Record<string, string>> = {
  response: 'stored responses',
  turn: 'turns of conversations',
  conversation: 'conversations',
  approval: 'approvals and questions',
  bytes: 'attachments',
}

function byName(counts: ReadonlyMap<string, number>): [name: string, count: number][] {
  const known = Object.entries(NAMES).map(([kind, name]): [string, number] => [name, counts.get(kind) ?? 0])
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const others = known.reduce((rest, [, count]) => rest - count, total)
  const all: [string, number][] = [...known, ['internal records', others]]
  return all.filter(([, count]) => count > 0)
}

function damageError(problems: readonly string[]): HostError {
  const shown = problems.slice(0, MAX_SHOWN)
  const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : []
  return new HostError('STORE_UNAVAILABLE', `The store is damaged:\n${[...shown, ...more].join('\n')}`, {
    suggestions: ['Restore a backup: agent-host store restore <file>'],
  })
}
