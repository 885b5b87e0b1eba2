import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Line of a stack that names a file. */
export interface Frame {
  /** Text before the file: `    at execute (`. */
  readonly lead: string
  readonly file: string
  readonly line: string
  readonly column: string
}

/** `    at name (path:line:column)`, or without a name. A line without that end is refused first: the rest would try each of its brackets. */
const FRAME = /^(?=.*:\d+:\d+\)?$)(\s+at (?:async )?(?:.*? \()?)(.+?):(\d+):(\d+)\)?$/

/**
 * Reads a line of a stack, which may be of another machine: the text of an error contains anything.
 *
 * @param platform of the machine that the paths belong to
 * @returns with the absolute file; undefined for a line that names none
 */
export function readFrame(text: string, platform: NodeJS.Platform = process.platform): Frame | undefined {
  const windows = platform === 'win32'
  const [, lead = '', path = '', line = '', column = ''] = FRAME.exec(text) ?? []
  const file = path.startsWith('file:') ? toPath(path, windows) : path
  return (windows ? win32 : posix).isAbsolute(file) ? { lead, file, line, column } : undefined
}

/** Returns an empty text for a URL that is no path here: `file://host/x.js`. */
function toPath(url: string, windows: boolean): string {
  try {
    return fileURLToPath(url, { windows })
  } catch {
    return ''
  }
}

/**
 * Reads a line of the stack of an error.
 *
 * @param platform of the machine that the paths belong to
 * @returns with the file relative to the project, with `/`; undefined for a line that names no file of it, or one of an installed package
 */
export function readProjectFrame(
  text: string,
  projectDir: string,
  platform: NodeJS.Platform = process.platform,
): Frame | undefined {
  const { relative, isAbsolute, sep } = platform === 'win32' ? win32 : posix
  const frame = readFrame(text, platform)
  if (!frame) return undefined
  const file = relative(projectDir, frame.file)
  if (file.startsWith('..') || isAbsolute(file) || file.split(sep).includes('node_modules')) return undefined
  return { ...frame, file: file.replaceAll(sep, '/') }
}
