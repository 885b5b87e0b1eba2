import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A place in a file of a project. */
export interface StackPlace {
  /** Relative to the project. */
  readonly file: string
  readonly line: string
  readonly column: string
}

/** `    at name (path:line:column)`, or without a name. */
const FRAME = /^\s+at (?:async )?(?:.*? \()?(.+?):(\d+):(\d+)\)?$/gm

/**
 * Finds the first place in a project that the stack of an error names.
 *
 * @param platform of the machine that the paths belong to
 */
export function findStackPlace(
  stack: string,
  projectDir: string,
  platform: NodeJS.Platform = process.platform,
): StackPlace | undefined {
  const windows = platform === 'win32'
  const { relative, isAbsolute, sep } = windows ? win32 : posix
  for (const [, path = '', line = '', column = ''] of stack.matchAll(FRAME)) {
    const absolute = path.startsWith('file:') ? fileURLToPath(path, { windows }) : path
    if (!isAbsolute(absolute)) continue
    const file = relative(projectDir, absolute)
    if (!file.startsWith('..') && !isAbsolute(file)) return { file: file.replaceAll(sep, '/'), line, column }
  }
  return undefined
}
