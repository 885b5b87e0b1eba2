import { readProjectFrame } from '../../module/project-frame.ts'

/**
 * Message and stack of an error, with the frames of the project alone, their files relative to it. A stack without such
 * frames keeps all it has.
 *
 * @param platform of the machine that the paths belong to
 */
export function projectStack(exception: string, projectDir: string, platform?: NodeJS.Platform): string {
  const lines = exception.split('\n')
  const frames = lines.flatMap((line) => shortenFrame(line, projectDir, platform) ?? [])
  const message = lines.filter((line) => !/^\s+at /.test(line))
  return frames.length === 0 ? exception : [...message, ...frames].join('\n')
}

/** @returns undefined for a frame outside the project, or of an installed package */
function shortenFrame(text: string, projectDir: string, platform: NodeJS.Platform | undefined): string | undefined {
  const { lead, file, line, column } = readProjectFrame(text, projectDir, platform) ?? {}
  if (lead === undefined || file?.split('/').includes('node_modules')) return undefined
  return `${lead}${file}:${line}:${column}${lead.endsWith('(') ? ')' : ''}`
}
