import { lstatSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { badProject, messageOf } from '../../errors.ts'
import { MODULE_EXTENSIONS } from '../../module/load-module.ts'
import { findPackage } from '../../module/project-packages.ts'
import { VERSION } from '../../version.ts'
import { type PlannedFile, writeFiles } from '../write-files.ts'
import { type FileTexts, packagesOf, readItem } from './library-files.ts'
import { addOrigin } from './origin-line.ts'

/** Folder of the unchanged copies, kept for later comparisons. */
export const BASES = '.agent-host/ejected'

export interface Ejected {
  /** Files that were not there before, package markers included; relative to the folder. */
  readonly created: readonly string[]
  /** Files that were there already, unchanged. */
  readonly left: readonly LeftFile[]
  /** Number of copies kept under {@link BASES}. */
  readonly bases: number
  /** npm packages of agent-host that the copies import and the folder cannot see, with their ranges. */
  readonly packages: ReadonlyMap<string, string>
}

export interface LeftFile {
  readonly path: string
  /** The file that is there; it may have another extension. */
  readonly by: string
}

/**
 * Copies modules of the library, with everything of their package that they need, into `<folder>/modules/`. What is
 * there is left as it is.
 *
 * @param folder absolute; it need not be there
 * @param references of library modules
 * @throws HostError `PROJECT_INVALID` when the folder cannot be written
 */
export async function ejectItems(
  folder: string,
  references: readonly string[],
  options: { readonly dryRun?: boolean } = {},
): Promise<Ejected> {
  const texts = await readItems(references)
  try {
    return { ...(await copyFiles(folder, texts, options)), packages: missingPackages(folder, texts) }
  } catch (cause) {
    throw badProject(`${folder} cannot be written: ${messageOf(cause)}`, { cause })
  }
}

async function readItems(references: readonly string[]): Promise<FileTexts> {
  const texts = new Map<string, string>()
  for (const reference of references) for (const [path, text] of await readItem(reference)) texts.set(path, text)
  return texts
}

async function copyFiles(folder: string, texts: FileTexts, options: { readonly dryRun?: boolean }) {
  const taken = [...texts.keys()].flatMap((path) => {
    const by = findTaken(folder, path)
    return by === undefined ? [] : [{ path: `modules/${path}`, by }]
  })
  const fresh = [...texts].filter(([path]) => !taken.some((file) => file.path === `modules/${path}`))
  const markers = await planMarkers([...texts.keys()])
  const marked = await writeFiles(folder, markers, options)
  // Helpers first: a server that watches the folder loads a module as soon as it is there.
  const helpersFirst = fresh.toSorted(([one], [other]) => Number(isHelper(other)) - Number(isHelper(one)))
  const inOrder = fresh.flatMap(planCopy).map(({ path }) => path)
  const copied = await writeFiles(folder, helpersFirst.flatMap(planCopy), options)
  const written = copied.toSorted((one, other) => inOrder.indexOf(one.path) - inOrder.indexOf(other.path))
  // Another process may have been faster.
  const late = written.filter(({ outcome }) => outcome === 'skipped').map(({ path }) => ({ path, by: path }))
  const created = [...marked, ...written].filter(({ outcome }) => outcome === 'created').map(({ path }) => path)
  return {
    created: created.filter((path) => !path.startsWith(`${BASES}/`)),
    left: [...taken, ...late],
    bases: fresh.length,
  }
}

function isHelper(path: string): boolean {
  return path.includes('/lib/')
}

/** Finds the file of a module: one of the same name in another extension would lose its place, too. */
export function findTaken(folder: string, path: string): string | undefined {
  const extension = posix.extname(path)
  const extensions = MODULE_EXTENSIONS.includes(extension) ? [extension, ...MODULE_EXTENSIONS] : [extension]
  const names = extensions.map((each) => `modules/${path.slice(0, -extension.length)}${each}`)
  // A link that leads nowhere is there, too.
  return names.find((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined)
}

/** The base first: a copy whose base is not known could never be merged. One of a copy that is gone is worth nothing. */
export function planCopy([path, text]: readonly [path: string, text: string]): PlannedFile[] {
  return [
    planBase(path, text),
    { path: `modules/${path}`, content: Buffer.from(addOrigin(path, text, VERSION), 'latin1') },
  ]
}

export function planBase(path: string, text: string): PlannedFile {
  return { path: `${BASES}/${path}`, content: Buffer.from(text, 'latin1'), replaces: true, isOwn: true }
}

const ROOT_MARKER = new URL('../../../templates/project/modules/index.ts', import.meta.url)
const MARKER = '// A project file with the same path overrides the library module.\nexport {}\n'

/** An `index.ts` for `modules/` and every folder below that has a file. */
export async function planMarkers(paths: readonly string[]): Promise<PlannedFile[]> {
  const folders = new Set<string>()
  for (const path of paths) {
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder)
  }
  return [
    { path: 'modules/index.ts', content: await readFile(ROOT_MARKER, 'utf8') },
    ...[...folders].sort().map((folder) => ({ path: `modules/${folder}/index.ts`, content: MARKER })),
  ]
}

/** Types are looked up from the project alone. One that has no agent-host of its own does not check them. */
function missingPackages(folder: string, texts: FileTexts): ReadonlyMap<string, string> {
  if (findPackage('agent-host', folder) === undefined) return new Map()
  return new Map([...packagesOf(texts)].filter(([name]) => findPackage(name, folder) === undefined))
}
