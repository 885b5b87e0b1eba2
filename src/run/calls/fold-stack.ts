import { posix, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fieldsOf, parseJson } from '../../json.ts'
import { installation } from '../../module/installation.ts'
import { readFrame } from '../../module/project-frame.ts'

const IS_FRAME = /^\s+at /
const NAME = /^\w*Error: /
/** Error that a limit leaves behind when it ends a request: the error above it names the limit. */
const ABORT = /^\w+Error: (This|The) operation was aborted/
/** Longer lines are text of an error, whatever they begin with. */
const MAX_FRAME_CHARS = 4096
/** Number of causes that are compared with those before. Further ones are shown as they are, since a vendor's message may contain thousands. */
const MAX_COMPARED = 20
// Each pattern reads a message in linear time: it may be an answer of 50,000 characters.
/** Keys that a vendor has shortened, and what stands in their place elsewhere. */
const SHORTENED = /\[redacted\]|(?<![\w-])[\w-]{1,4096}\*{3,}\w*/g
const SENTENCE_END = /(?<![.\s])[.\s]+$/
/** Folders of agent-host itself. */
const OWN_FOLDERS = [new URL('.', installation.entry), installation.sources].map((url) => fileURLToPath(url))

interface FoldOptions {
  /** Files in it are written relative to it. */
  readonly projectDir?: string
  /** Of the machine that the paths belong to. */
  readonly platform?: NodeJS.Platform
}

/**
 * Message and stack of an error with the frames of the project; those of agent-host, of packages and of Node are counted. Causes
 * that say nothing new are left out.
 */
export function foldStack(exception: string, options: FoldOptions = {}): string {
  const said: string[] = []
  let internal = 0
  const parts = exception.split('\nCaused by: ').flatMap((part, index): string[] => {
    const lines = part.split('\n')
    const frames = lines.filter(isFrame)
    const own = frames.flatMap((frame) => readOwnFrame(frame, options) ?? [])
    internal += frames.length - own.length
    const message = lines.filter((line) => !isFrame(line)).join('\n')
    if (index >= MAX_COMPARED) return [[message, ...own].join('\n')]
    const core = reasonOf(message).replace(NAME, '').replace(SHORTENED, '').replace(SENTENCE_END, '')
    const isNew = !said.some((before) => before.includes(core)) && !(said.length > 0 && ABORT.test(message))
    said.push(core)
    return isNew ? [[message, ...own].join('\n')] : own
  })
  const shown = parts.join('\nCaused by: ')
  if (internal === 0) return shown
  const count = `+${internal} internal frame${internal === 1 ? '' : 's'}`
  const last = shown.slice(shown.lastIndexOf('\n') + 1)
  return isFrame(last) ? `${shown}\n    ${count}` : `${shown} (${count})`
}

/** Reason within a message. Vendors send the error within a stream as an object with a message, which is thrown as it is. */
function reasonOf(message: string): string {
  if (!message.startsWith('{')) return message
  const { message: reason } = fieldsOf(parseJson(message))
  return typeof reason === 'string' ? reason : message
}

function isFrame(line: string): boolean {
  return line.length <= MAX_FRAME_CHARS && IS_FRAME.test(line)
}

/** @returns undefined for a frame outside the project's code */
function readOwnFrame(text: string, { projectDir, platform = process.platform }: FoldOptions): string | undefined {
  const { relative, isAbsolute, sep } = platform === 'win32' ? win32 : posix
  const frame = readFrame(text, platform)
  if (!frame) return undefined
  const { lead, file, line, column } = frame
  if (file.split(sep).includes('node_modules')) return undefined
  if (OWN_FOLDERS.some((folder) => file.startsWith(folder))) return undefined
  const inside = projectDir === undefined ? file : relative(projectDir, file)
  const shown = inside.startsWith('..') || isAbsolute(inside) ? file : inside.replaceAll(sep, '/')
  return `${lead}${shown}:${line}:${column}${lead.endsWith('(') ? ')' : ''}`
}
