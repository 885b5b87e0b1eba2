import { messageOf } from '../../errors.ts'
import { readLibraryCatalog } from '../../module/library-catalog.ts'
import { listPackageModules, ModuleLoader } from '../../module/load-module.ts'
import { ProjectCode } from '../../module/project-code.ts'
import { listModulePackages } from '../../module/project-packages.ts'
import { type ItemState, stateOf } from '../../project/eject/ejected-files.ts'
import type { Offer } from './choose-items.ts'

/** A module that an installed package brings: it is used as it is, and not ejected. */
export interface PackageItem {
  readonly reference: string
  readonly description: string
  /** Name of the npm package. */
  readonly package: string
}

/** Lists the modules in packages of a project, with their descriptions. */
export async function listPackageItems(folder: string): Promise<PackageItem[]> {
  const loader = new ModuleLoader(folder, new ProjectCode(folder))
  const describe = async (name: string, reference: string) => {
    const loaded = await loader.load(reference).catch((error: unknown) => messageOf(error))
    const description = typeof loaded === 'string' ? loaded : loaded.module.description
    return { reference, description: description.replace(/\s+/g, ' ').trim(), package: name }
  }
  const packages = listModulePackages(folder)
  return Promise.all(packages.flatMap((each) => listPackageModules(each).map((item) => describe(each.name, item))))
}

/** Every library module, with its description and its state in this project. */
export async function offerItems(folder: string): Promise<(Offer & ItemState)[]> {
  const catalog = await readLibraryCatalog()
  return Promise.all(
    catalog.map(async ({ reference, description }) => {
      const state = await stateOf(folder, reference)
      return { reference, description: description.replace(/\s+/g, ' ').trim(), ...state }
    }),
  )
}
