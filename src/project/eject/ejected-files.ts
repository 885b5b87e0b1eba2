import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { listLibrary, MODULE_EXTENSIONS } from '../../module/load-module.ts'
import { findLink } from '../find-link.ts'
import { listFiles } from '../list-files.ts'
import { BASES } from './eject-items.ts'
import { findItems } from './find-items.ts'
import { readIfThere, readItem, readLibraryFile } from './library-files.ts'
import { type Copy, takeOrigin, withLineEnds } from './origin-line.ts'

/** A file of the project that stands in the place of one of the library. */
export interface EjectedFile {
  /** Under `modules/`. */
  readonly path: string
  readonly copy: Copy
  /** Text as it was copied; undefined when it was not kept. */
  readonly base: string | undefined
  /** Current text in the library; undefined when it has no such file any more. */
  readonly upstream: string | undefined
}

/** State of an ejected module; null if the base is missing. */
export interface ItemState {
  readonly ejected: boolean
  /** Of agent-host, that the copy came from; null when its first line is gone. */
  readonly version: string | null
  /** True when one of its files was changed in the project. */
  readonly changed: boolean | null
  /** True when one of its files was changed in agent-host since. */
  readonly outdated: boolean | null
}

const NOT_EJECTED: ItemState = { ejected: false, version: null, changed: null, outdated: null }

/** @param folder of the project */
export async function stateOf(folder: string, reference: string): Promise<ItemState> {
  if (!isEjected(folder, reference)) return NOT_EJECTED
  const files = await Promise.all([...(await readItem(reference)).keys()].map((path) => readEjected(folder, path)))
  return {
    ejected: true,
    version: files[0]?.copy.origin?.version ?? null,
    changed: someOf(files.map((file) => (file ? isChangedHere(file) : true))),
    outdated: someOf(files.map((file) => (file ? isChangedUpstream(file) : true))),
  }
}

/**
 * The files of ejected modules, in alphabetical order.
 *
 * @param names of modules, as for ejecting; none for every one
 * @throws HostError `MODULE_NOT_FOUND` when one of them is not ejected
 */
export async function listEjected(folder: string, names: readonly string[]): Promise<EjectedFile[]> {
  const library = listLibrary()
  const bases = await listBases(folder)
  const known = [...new Set([...library, ...bases.filter(isItem).map(toReference)])].sort()
  const ejected = known.filter((reference) => isEjected(folder, reference))
  const chosen = names.length > 0 ? findItems(names, ejected, 'among the ejected ones') : ejected
  const items = await Promise.all(chosen.map((reference) => filesOf(reference, library)))
  const paths = new Set([...items.flat(), ...(names.length > 0 ? [] : bases)])
  const files = await Promise.all([...paths].sort().map((path) => readEjected(folder, path)))
  // Own modules that replace one of the library are listed only where they are named.
  return files.filter((file) => file !== undefined).filter((file) => names.length > 0 || isCopy(file))
}

/** @returns undefined when the project has no such file */
async function readEjected(folder: string, path: string): Promise<EjectedFile | undefined> {
  const text = await readIfThere(join(folder, 'modules', path))
  if (text === undefined) return undefined
  const copy = takeOrigin(text)
  const upstream = await readLibraryFile(path)
  const base = (await readBase(folder, path)) ?? (isSame(copy.body, upstream) ? upstream : undefined)
  return { path, copy, base, upstream }
}

export function isChangedHere({ copy, base }: EjectedFile): boolean | null {
  return base === undefined ? null : !isSame(copy.body, base)
}

export function isChangedUpstream({ base, upstream }: EjectedFile): boolean | null {
  return base === undefined ? null : !isSame(base, upstream)
}

/** The files that the library's module consists of today; of one that is gone, its own. */
async function filesOf(reference: string, library: readonly string[]): Promise<string[]> {
  return library.includes(reference) ? [...(await readItem(reference)).keys()] : [`${reference}.ts`]
}

/** git may have given the files of the project the line ends of its machine. */
function isSame(text: string, other: string | undefined): boolean {
  return other !== undefined && withLineEnds(text, '\n') === withLineEnds(other, '\n')
}

function isCopy({ copy, base }: EjectedFile): boolean {
  return copy.origin !== undefined || base !== undefined
}

function isEjected(folder: string, reference: string): boolean {
  return MODULE_EXTENSIONS.some((extension) => existsSync(join(folder, 'modules', `${reference}${extension}`)))
}

async function listBases(folder: string): Promise<string[]> {
  const root = join(folder, BASES)
  if (!existsSync(root)) return []
  return listFiles(root)
}

function isItem(path: string): boolean {
  return path.endsWith('.ts') && !path.includes('/lib/')
}

function toReference(path: string): string {
  return path.replace(/\.ts$/, '')
}

/** Reads the unchanged copy of a file; undefined where a link leads elsewhere. */
async function readBase(folder: string, path: string): Promise<string | undefined> {
  const base = `${BASES}/${path}`
  return (await findLink(folder, base)) === undefined ? readIfThere(join(folder, base)) : undefined
}

function someOf(answers: readonly (boolean | null)[]): boolean | null {
  return answers.includes(true) ? true : answers.includes(null) ? null : false
}
