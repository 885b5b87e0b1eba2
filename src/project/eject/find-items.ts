import { didYouMean } from '../../definition/nearest-name.ts'
import { listNames } from '../../definition/problem.ts'
import { HostError } from '../../errors.ts'

/**
 * Names as people write them -> module references. A name is `package/item`, `package.item`, a package (all its items),
 * or an item that only one package has.
 *
 * @param known references to choose from
 * @param where ends the sentence `There is no module 'x' ...`
 * @throws HostError `MODULE_NOT_FOUND` when one of them is unknown, or may be several
 */
export function findItems(names: readonly string[], known: readonly string[], where: string): string[] {
  const unknown = names.filter((name) => findItem(name, known).length === 0)
  if (unknown.length > 0) throw unknownNames(unknown, known, where)
  return [...new Set(names.flatMap((name) => findItem(name, known)))]
}

/** `llm` of `llm/auto`; a module that stands alone is a package of itself. */
export function packageOf(reference: string): string {
  return reference.replace(/\/.*$/, '')
}

function findItem(name: string, known: readonly string[]): readonly string[] {
  const [exact] = [name, name.replace('.', '/')].filter((each) => known.includes(each))
  if (exact !== undefined) return [exact]
  const ofPackage = known.filter((reference) => packageOf(reference) === name)
  if (ofPackage.length > 0) return ofPackage
  const items = known.filter((reference) => reference.endsWith(`/${name}`))
  if (items.length < 2) return items
  throw new HostError('MODULE_NOT_FOUND', `'${name}' may be ${listNames(items).replace(/ and ([^ ]+)$/, ' or $1')}.`, {
    suggestions: ['Write it with its package. Nothing was changed.'],
  })
}

function unknownNames(names: readonly string[], known: readonly string[], where: string): HostError {
  const what = names.length === 1 ? `module ${listNames(names)}` : `modules ${listNames(names)}`
  return new HostError('MODULE_NOT_FOUND', `There ${names.length === 1 ? 'is' : 'are'} no ${what} ${where}.`, {
    suggestions: [
      ...new Set(names.flatMap((name) => suggest(name, known))),
      '`agent-host eject list` lists them. Nothing was changed.',
    ],
  })
}

/** The nearest by its letters, in the form in which it was written; otherwise those that hold the word. */
function suggest(name: string, known: readonly string[]): string[] {
  const items = known.map((reference) => reference.replace(/^.*\//, ''))
  const dotted = known.map((reference) => reference.replace('/', '.'))
  const nearest = didYouMean(name, [...known, ...dotted, ...known.map(packageOf), ...items])
  if (nearest.length > 0) return nearest
  const longer = known.filter((reference) => name.length > 2 && reference.includes(name.replace('.', '/')))
  return longer.map((reference) => `Did you mean '${reference}'?`)
}
