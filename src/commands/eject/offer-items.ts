import { describeLibraryModule, listLibrary } from '../../module/load-module.ts'
import { type ItemState, stateOf } from '../../project/ejected-files.ts'
import type { Offer } from './choose-items.ts'

/** Every module of the library, with what it is and what became of it in this project. */
export function offerItems(folder: string): Promise<(Offer & ItemState)[]> {
  return Promise.all(
    listLibrary().map(async (reference) => {
      const [description, state] = await Promise.all([describeLibraryModule(reference), stateOf(folder, reference)])
      return { reference, description: description.replace(/\s+/g, ' ').trim(), ...state }
    }),
  )
}
