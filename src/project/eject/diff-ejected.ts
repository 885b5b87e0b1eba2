import { VERSION } from '../../version.ts'
import { isChangedHere, isChangedUpstream, listEjected } from './ejected-files.ts'
import { diffTexts } from './git.ts'
import { lineEndOf, withLineEnds } from './origin-line.ts'

/** Changes of an ejected file since it was copied. */
export interface Difference {
  /** Under `modules/`. */
  readonly path: string
  readonly from: string | undefined
  /** Unified diffs, empty without changes; null if the original is missing. */
  readonly here: string | null
  /** Null also when agent-host has the file no more. */
  readonly upstream: string | null
  readonly isGone: boolean
}

/**
 * @param names of modules, as for ejecting; none for every ejected one
 * @throws HostError `MODULE_NOT_FOUND` when one of them is not ejected; `PROJECT_INVALID` without git, when it is needed
 */
export async function diffEjected(folder: string, names: readonly string[]): Promise<Difference[]> {
  const files = await listEjected(folder, names)
  return Promise.all(
    files.map(async (file): Promise<Difference> => {
      const { path, copy, base, upstream } = file
      const from = copy.origin?.version
      const facts = { path, from, isGone: upstream === undefined }
      if (base === undefined) return { ...facts, here: null, upstream: null }
      const lineEnd = lineEndOf(copy.body)
      const before = { label: `ejected/${path}`, text: withLineEnds(base, lineEnd) }
      const here = isChangedHere(file) ? await diffTexts(before, { label: `modules/${path}`, text: copy.body }) : ''
      if (upstream === undefined) return { ...facts, here, upstream: null }
      const after = { label: `agent-host-${VERSION}/${path}`, text: withLineEnds(upstream, lineEnd) }
      return { ...facts, here, upstream: isChangedUpstream(file) ? await diffTexts(before, after) : '' }
    }),
  )
}
