import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const FRAME = /^(\s+at (?:.*\()?)((?:file:\/\/)?\/[^():]+|file:\/\/\/[^()]+?):(\d+:\d+\)?)$/

/**
 * Message and stack of an error, with the frames of the project alone, their files relative to it. A stack without such
 * frames keeps all it has.
 */
export function projectStack(exception: string, projectDir: string): string {
  const lines = exception.split('\n')
  const frames = lines.flatMap((line) => shortenFrame(line, projectDir) ?? [])
  const message = lines.filter((line) => !/^\s+at /.test(line))
  return frames.length === 0 ? exception : [...message, ...frames].join('\n')
}

/** @returns undefined for a frame outside the project, or of an installed package */
function shortenFrame(line: string, projectDir: string): string | undefined {
  const [, lead, path, place] = FRAME.exec(line) ?? []
  if (lead === undefined || path === undefined) return undefined
  const inside = relative(projectDir, path.startsWith('file:') ? fileURLToPath(path) : path)
  if (inside.startsWith('..') || inside.split(sep).includes('node_modules')) return undefined
  return `${lead}${inside}:${place}`
}
