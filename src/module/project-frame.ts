import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Line of a stack that names a file of a project. */
export interface ProjectFrame {
  /** Text before the file: `    at execute (`. */
  readonly lead: string
  /** Relative to the project, with `/`. */
  readonly file: string
  readonly line: string
  readonly column: string
}

/** `    at name (path:line:column)`, or without a name. */
const FRAME = /^(\s+at (?:async )?(?:.*? \()?)(.+?):(\d+):(\d+)\)?$/

/**
 * Reads a line of the stack of an error.
 *
 * @param platform of the machine that the paths belong to
 * @returns undefined for a line that names no file of the project, or one of an installed package
 */
export function readProjectFrame(
  text: string,
  projectDir: string,
  platform: NodeJS.Platform = process.platform,
): ProjectFrame | undefined {
  const windows = platform === 'win32'
  const { relative, isAbsolute, sep } = windows ? win32 : posix
  const [, lead = '', path = '', line = '', column = ''] = FRAME.exec(text) ?? []
  const absolute = path.startsWith('file:') ? fileURLToPath(path, { windows }) : path
  if (!isAbsolute(absolute)) return undefined
  const file = relative(projectDir, absolute)
  if (file.startsWith('..') || isAbsolute(file) || file.split(sep).includes('node_modules')) return undefined
  return { lead, file: file.replaceAll(sep, '/'), line, column }
}
