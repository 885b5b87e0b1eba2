import { resolve } from 'node:path'
import { Flags } from '@oclif/core'
import type { ItemState } from '../../project/eject/ejected-files.ts'
import { packageOf } from '../../project/eject/find-items.ts'
import { BaseCommand } from '../base-command.ts'
import { destFlag } from '../eject.ts'
import type { Offer } from './choose-items.ts'
import type { PackageItem } from './offer-items.ts'

type Item = Offer & ItemState

export default class EjectList extends BaseCommand {
  static override description = 'Lists library modules, those already in modules/, and modules of installed packages.'
  static override examples = ['agent-host eject list', 'agent-host eject list --json']
  static override flags = {
    dest: destFlag,
    json: Flags.boolean({ description: 'Print the list as JSON' }),
  }

  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { flags } = await this.parse(EjectList)
    const { listPackageItems, offerItems } = await import('./offer-items.ts')
    const folder = resolve(flags.dest ?? '.')
    const packages = byPackage(await offerItems(folder))
    const installed = await listPackageItems(folder)
    if (flags.json) {
      const modules = installed.map(({ reference, ...item }) => ({ name: reference, ...item }))
      this.printJson({ packages: [...packages].map(toJson), installed: modules })
    } else this.logLines([...formatPackages(packages), ...toInstalledText(installed)])
  }
}

function byPackage(items: readonly Item[]): ReadonlyMap<string, readonly Item[]> {
  const packages = new Map<string, Item[]>()
  for (const item of items) {
    const name = packageOf(item.reference)
    packages.set(name, [...(packages.get(name) ?? []), item])
  }
  return packages
}

function toJson([name, items]: readonly [string, readonly Item[]]) {
  return { name, items: items.map(({ reference, ...item }) => ({ name: reference, ...item })) }
}

function formatPackages(packages: ReadonlyMap<string, readonly Item[]>): string[] {
  const width = Math.max(...[...packages.values()].flat().map(({ reference }) => reference.length))
  return [...packages].flatMap(([name, items]) => [
    name,
    ...items.map((item) => `  ${item.reference.padEnd(width)}  ${item.description}${describeState(item)}`),
  ])
}

function toInstalledText(items: readonly PackageItem[]): string[] {
  const width = Math.max(...items.map(({ reference }) => reference.length))
  const names = [...new Set(items.map((item) => item.package))]
  return names.flatMap((name) => [
    `${name} (npm package)`,
    ...items
      .filter((item) => item.package === name)
      .map(({ reference, description }) => `  ${reference.padEnd(width)}  ${description}`),
  ])
}

function describeState({ ejected, version, changed, outdated }: Item): string {
  if (!ejected) return ''
  const from = version === null ? '' : ` from ${version}`
  const here = changed === null ? ', unknown whether changed' : changed ? ', changed' : ''
  return ` [ejected${from}${here}${outdated ? '; agent-host has a newer one' : ''}]`
}
