import { resolve } from 'node:path'
import { Flags } from '@oclif/core'
import type { Upgrade, UpgradeOutcome } from '../../project/eject/upgrade-ejected.ts'
import { VERSION } from '../../version.ts'
import { BaseCommand } from '../base-command.ts'
import { destFlag, ejectedNames } from '../eject.ts'

/** Words before the path of a file; a file that is left as it is gets the reason after it. */
const WORDS: Readonly<Record<UpgradeOutcome, readonly [word: string, reason?: string]>> = {
  current: ['current'],
  updated: ['updated'],
  merged: ['merged'],
  created: ['created'],
  conflicts: ['conflict', 'both sides have changed the same lines: look for <<<<<<<'],
  unresolved: ['left', 'it still has conflicts from before: look for <<<<<<<'],
  unknown: ['left', 'its original is missing from .agent-host/ejected, so it cannot be merged'],
  gone: ['left', `agent-host ${VERSION} has no such file`],
}
/** Outcomes that need work by hand. */
const UNDONE: readonly UpgradeOutcome[] = ['conflicts', 'unresolved', 'unknown']

export default class EjectUpgrade extends BaseCommand {
  static override description =
    'Merges the new version of agent-host into ejected modules and keeps your changes (three-way merge).'
  static override examples = ['agent-host eject upgrade --dry-run', 'agent-host eject upgrade llm/auto']
  static override args = { names: ejectedNames }
  static override flags = {
    dest: destFlag,
    'dry-run': Flags.boolean({ description: 'Show what would happen to each file, and write nothing' }),
  }

  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(EjectUpgrade)
    const { upgradeEjected } = await import('../../project/eject/upgrade-ejected.ts')
    const dryRun = flags['dry-run'] ?? false
    const upgrades = await upgradeEjected(resolve(flags.dest ?? '.'), args.names ?? [], { dryRun })
    for (const upgrade of upgrades) this.log(describe(upgrade))
    if (upgrades.length === 0) this.log('Nothing is ejected.')
    if (dryRun) this.log('Nothing was written.')
    const undone = upgrades.filter(({ outcome }) => UNDONE.includes(outcome))
    if (undone.length === 0) return
    this.logToStderr(`By hand: ${undone.map(({ path }) => `modules/${path}`).join(', ')}`)
    this.exit(1)
  }
}

function describe({ path, outcome, from, files }: Upgrade): string {
  const [word, reason] = WORDS[outcome]
  const versions = from !== undefined && files.length > 0 ? ` (${from} -> ${VERSION})` : ''
  return `${word.padEnd(8)} modules/${path}${versions}${reason ? `: ${reason}` : ''}`
}
