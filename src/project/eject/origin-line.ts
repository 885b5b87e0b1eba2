import { extname } from 'node:path'

/** A file of the project without the line that says where it was ejected from. */
export interface Copy {
  readonly body: string
  /** Absent when the line was removed. */
  readonly origin?: Origin
}

interface Origin {
  readonly version: string
  /** Of the line, from 0. */
  readonly index: number
  /** Byte order mark that an editor has put in front of it. */
  readonly lead: string
}

const LINE = /^(\xef\xbb\xbf)?(?:\/\/|#) ejected from agent-host (\S+): \S+\s*$/
/** Last line index searched for the origin: a licence may stand above it. */
const MAX_INDEX = 40
const COMMENTS: Readonly<Record<string, string>> = { '.py': '#', '.sh': '#', '.yml': '#', '.yaml': '#', '.toml': '#' }
/** Endings of the files that get no origin line, since they have no comments. */
const WITHOUT_COMMENTS = ['.json', '.txt', '.md']

/** A file of the library as it is put into a project: `// ejected from agent-host 0.1.0: llm/auto.ts` stands above. */
export function addOrigin(path: string, body: string, version: string): string {
  if (WITHOUT_COMMENTS.includes(extname(path))) return body
  return putOrigin(path, { body, origin: { version, index: body.startsWith('#!') ? 1 : 0, lead: '' } })
}

export function takeOrigin(text: string): Copy {
  const lines = linesOf(text)
  const index = lines.slice(0, MAX_INDEX).findIndex((line) => LINE.test(line))
  const [, lead = '', version = ''] = LINE.exec(lines[index] ?? '') ?? []
  if (index < 0) return { body: text }
  return { body: lines.toSpliced(index, 1).join(''), origin: { version, index, lead } }
}

/** The opposite of {@link takeOrigin}, with another version or another body. */
export function putOrigin(path: string, { body, origin }: Copy): string {
  if (!origin) return body
  const comment = COMMENTS[extname(path)] ?? '//'
  const line = `${origin.lead}${comment} ejected from agent-host ${origin.version}: ${path}${lineEndOf(body)}`
  return linesOf(body).toSpliced(origin.index, 0, line).join('')
}

/** Returns the line ending that most lines of a text have. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  const windows = text.split('\r\n').length - 1
  return windows > (text.split('\n').length - 1) / 2 ? '\r\n' : '\n'
}

export function withLineEnds(text: string, lineEnd: '\n' | '\r\n'): string {
  return text.replace(/\r?\n/g, lineEnd)
}

/** Each with its end. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}
