import { badRequest } from '../../../../errors.ts'
import { getOrAdd } from '../../../../get-or-add.ts'
import type { Viewer } from '../viewer.ts'

/** Maximum of one query. */
const MAX_FILES = 10
const TOO_MANY = `A query reads ${MAX_FILES} large files at most: ask for the others in another one.`

/** Large files that queries read: each once for a query, however often that names it, and one after another. */
export class LargeReads {
  readonly #ofQueries = new WeakMap<Viewer, Map<string, Promise<unknown>>>()
  #reading: Promise<unknown> = Promise.resolve()

  /**
   * Returns what was read for this query, or reads it.
   *
   * @param viewer of the query: each has its own
   * @param name tells files apart; the same one is always read alike
   * @throws HostError `REQUEST_INVALID` for the eleventh file of a query
   */
  read<T>(viewer: Viewer, name: string, read: () => Promise<T>): Promise<T> {
    const known = getOrAdd(this.#ofQueries, viewer, () => new Map<string, Promise<unknown>>())
    const found = known.get(name)
    if (found) return found as Promise<T>
    if (known.size === MAX_FILES) throw badRequest(TOO_MANY)
    const file = this.#reading.then(read)
    known.set(name, file)
    this.#reading = file.catch(() => {})
    return file
  }
}
