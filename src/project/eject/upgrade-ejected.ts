import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { badProject, messageOf } from '../../errors.ts'
import { listLibrary } from '../../module/load-module.ts'
import { VERSION } from '../../version.ts'
import { type PlannedFile, writeFiles } from '../write-files.ts'
import { BASES, planBase, planCopy, planMarkers } from './eject-items.ts'
import { type EjectedFile, isChangedHere, isChangedUpstream, listEjected } from './ejected-files.ts'
import { mergeTexts } from './git.ts'
import { readItem } from './library-files.ts'
import { lineEndOf, putOrigin, withLineEnds } from './origin-line.ts'

/** Outcome of an upgrade for one file, actual or planned. */
export interface Upgrade {
  /** Under `modules/`. */
  readonly path: string
  readonly outcome: UpgradeOutcome
  /** Of agent-host, that the copy came from; undefined when its line is gone. */
  readonly from: string | undefined
  /** Files to write, in this order. */
  readonly files: readonly PlannedFile[]
}

/**
 * `current`: agent-host has nothing new. `updated`: nothing was changed here. `merged`: changes of both sides.
 * `conflicts`: both sides have changed the same lines, which are marked. `created`: a file that the new version imports.
 * Left as they are: `unresolved` has marks of conflicts from before, `unknown` no base, `gone` no file in agent-host.
 */
export type UpgradeOutcome =
  | 'current'
  | 'updated'
  | 'merged'
  | 'conflicts'
  | 'created'
  | 'unresolved'
  | 'unknown'
  | 'gone'

/**
 * Upgrades ejected modules to this version of agent-host, keeping your changes.
 *
 * @param names of modules, as for ejecting; none for every ejected one
 * @throws HostError `MODULE_NOT_FOUND` when one of them is not ejected; `PROJECT_INVALID` without git, when it is needed
 */
export async function upgradeEjected(
  folder: string,
  names: readonly string[],
  options: { readonly dryRun?: boolean } = {},
): Promise<Upgrade[]> {
  const ejected = await listEjected(folder, names)
  // Everything is known before anything is written.
  const upgrades = [...(await Promise.all(ejected.map(planUpgrade))), ...(await planMissing(folder, ejected))]
  try {
    for (const { files } of upgrades) await writeFiles(folder, files, options)
  } catch (cause) {
    throw badProject(`${folder} cannot be written: ${messageOf(cause)}`, { cause })
  }
  return upgrades
}

async function planUpgrade(file: EjectedFile): Promise<Upgrade> {
  const { path, copy, base, upstream } = file
  const from = copy.origin?.version
  const leave = (outcome: UpgradeOutcome): Upgrade => ({ path, outcome, from, files: [] })
  if (upstream === undefined) return leave('gone')
  if (hasConflictMarks(copy.body)) return leave('unresolved')
  if (base === undefined) return leave('unknown')
  const { outcome, body } = await merge(file, base, upstream)
  const isSameVersion = copy.origin === undefined || from === VERSION
  if (outcome === 'current' && isSameVersion) return leave('current')
  const origin = copy.origin && { ...copy.origin, version: VERSION }
  const content = putOrigin(path, origin ? { body, origin } : { body })
  return { path, outcome: outcome === 'current' ? 'updated' : outcome, from, files: planFiles(path, content, upstream) }
}

/** In the line ends that the copy has here. */
async function merge(
  file: EjectedFile,
  base: string,
  upstream: string,
): Promise<{ outcome: 'current' | 'updated' | 'merged' | 'conflicts'; body: string }> {
  const { path, copy } = file
  if (!isChangedUpstream(file)) return { outcome: 'current', body: copy.body }
  const lineEnd = lineEndOf(copy.body)
  const theirs = withLineEnds(upstream, lineEnd)
  if (!isChangedHere(file)) return { outcome: 'updated', body: theirs }
  const { text, hasConflicts } = await mergeTexts(
    { label: `modules/${path}`, text: copy.body },
    { label: `agent-host ${copy.origin?.version ?? '(as ejected)'}`, text: withLineEnds(base, lineEnd) },
    { label: `agent-host ${VERSION}`, text: theirs },
  )
  return { outcome: hasConflicts ? 'conflicts' : 'merged', body: text }
}

/** The copy first: merging the same once more changes nothing, but a base that is ahead of its copy undoes the change. */
function planFiles(path: string, content: string, upstream: string): PlannedFile[] {
  return [
    { path: `modules/${path}`, content: Buffer.from(content, 'latin1'), replaces: true },
    planBase(path, upstream),
  ]
}

/** Plans the files that the new versions import and the old ones did not. A file that was removed here stays away. */
async function planMissing(folder: string, ejected: readonly EjectedFile[]): Promise<Upgrade[]> {
  const followed = ejected.filter(({ base, upstream }) => base !== undefined && upstream !== undefined)
  const references = followed.map(({ path }) => path.replace(/\.ts$/, ''))
  const library = listLibrary().filter((reference) => references.includes(reference))
  const texts = (await Promise.all(library.map(readItem))).flatMap((item) => [...item])
  const isNew = ([path]: readonly [string, string]) =>
    !existsSync(join(folder, 'modules', path)) && !existsSync(join(folder, BASES, path))
  return Promise.all(
    [...new Map(texts.filter(isNew))].map(async (file): Promise<Upgrade> => {
      const files = [...(await planMarkers([file[0]])), ...planCopy(file)]
      return { path: file[0], outcome: 'created', from: undefined, files }
    }),
  )
}

function hasConflictMarks(text: string): boolean {
  return /^<{7} /m.test(text) && /^>{7} /m.test(text)
}
