import { hash } from 'node:crypto'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, extname, join, relative, sep } from 'node:path'
import {
  decodeText,
  type FrontMatter,
  HostError,
  messageOf,
  type ReadFileLimits,
  readFrontMatter,
  readRegularFile,
  type Skill,
  type SkillFile,
} from 'agent-host'
import { findEscapingLink } from './skill-links.ts'

/** A skill with the text that a model gets. */
export interface LoadedSkill extends Skill {
  /** Absolute. */
  readonly dir: string
  /** The same without links. */
  readonly realDir: string
  /** Its `SKILL.md` without the front matter. */
  readonly text: string
}

export const SKILL_FILE = 'SKILL.md'
/** 256 KiB: it is read into a model's context as a whole. */
const MAX_TEXT_BYTES = 256 * 1024
/** 8 MiB. MCP (SEP-2640) asks clients to take 16 MiB. */
export const MAX_BYTES = 8 * 1024 * 1024
/** As SEP-2640 has it. */
const MAX_FILES = 512

/**
 * Loads the skills of a folder: the folder itself if it has a `SKILL.md`, otherwise each folder in it that has one.
 *
 * @param folder absolute
 * @param warn receives warnings for the operator
 * @throws HostError `MODULE_INVALID` naming file, line and reason
 */
export async function loadSkills(
  folder: string,
  projectDir: string,
  warn: (message: string) => void,
): Promise<LoadedSkill[]> {
  const name = nameIn(projectDir, folder)
  const entries = await readdir(folder).catch((cause) => {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such folder' : messageOf(cause)
    throw new HostError('MODULE_INVALID', `${name}: ${reason}.`, { cause })
  })
  if (entries.includes(SKILL_FILE)) return [await loadSkill(folder, projectDir, warn)]
  const skills: LoadedSkill[] = []
  for (const entry of entries.sort()) {
    const dir = join(folder, entry)
    const inside = await readdir(dir).catch((): string[] => [])
    if (inside.includes(SKILL_FILE)) skills.push(await loadSkill(dir, projectDir, warn))
  }
  if (skills.length > 0) return skills
  throw new HostError('MODULE_INVALID', `${name}: there is no skill in this folder.`, {
    suggestions: [`Write one: ${name}/<name of the skill>/${SKILL_FILE}`],
  })
}

async function loadSkill(dir: string, projectDir: string, warn: (message: string) => void): Promise<LoadedSkill> {
  const shown = nameIn(projectDir, dir)
  await refuseEscape(dir, projectDir, shown, 'the project')
  const realDir = await realpath(dir)
  const files = await readFiles(dir, realDir, shown)
  const file = `${shown}/${SKILL_FILE}`
  const { bytes } = files.find(({ path }) => path === SKILL_FILE) ?? {}
  if (bytes === undefined)
    throw new HostError('MODULE_INVALID', `${file}: it must be a file, and is a link or something else.`)
  if (bytes > MAX_TEXT_BYTES) {
    throw new HostError('MODULE_INVALID', `${file}: the file has ${bytes} bytes; it may have ${MAX_TEXT_BYTES}.`, {
      suggestions: ['Move parts of it into files beside it, and name them in the text.'],
    })
  }
  const text = await readInside(join(dir, SKILL_FILE), { maxBytes: MAX_TEXT_BYTES, within: realDir }, file)
  const front = readFrontMatter(decodeText(text, file, warn), file)
  const { name, description } = checkFrontMatter(front, basename(dir), file)
  const link = findEscapingLink(front.text)
  if (link) {
    const message = `${file}:${front.textLine + link.line - 1}: the link to '${link.target}' leaves the folder of the skill.`
    throw new HostError('MODULE_INVALID', message, { suggestions: ['Copy the file into the folder of the skill.'] })
  }
  return {
    name,
    description,
    frontMatter: front.data,
    files,
    dir,
    realDir,
    text: front.text.trim(),
  }
}

/** Checks what the specification asks of the fields; others are kept as they are. */
function checkFrontMatter({ data, lineOf }: FrontMatter, folder: string, file: string) {
  const { name, description, license, compatibility, metadata } = data
  const refuse = (field: string, message: string): HostError =>
    new HostError('MODULE_INVALID', `${file}:${lineOf(field)}: ${field} ${message}.`)
  if (typeof name !== 'string' || name.length > 64 || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw refuse('name', 'must be 1 to 64 of a-z, 0-9 and single hyphens between them')
  }
  if (name !== folder) throw refuse('name', `must be the name of its folder, '${folder}', and is '${name}'`)
  if (typeof description !== 'string' || description.trim() === '' || description.length > 1024) {
    throw refuse('description', 'must be a text of 1 to 1024 characters')
  }
  if (license !== undefined && typeof license !== 'string') throw refuse('license', 'must be a text')
  if (compatibility !== undefined && !(typeof compatibility === 'string' && compatibility.length <= 500)) {
    throw refuse('compatibility', 'must be a text of at most 500 characters')
  }
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))) {
    throw refuse('metadata', 'must be a map')
  }
  return { name, description: description.trim() }
}

/** Every file below a folder, in the order of their paths. */
async function readFiles(dir: string, realDir: string, shown: string): Promise<SkillFile[]> {
  const files: SkillFile[] = []
  let left = MAX_BYTES
  const visit = async (folder: string): Promise<void> => {
    const entries = (await readdir(folder)).filter((name) => !IGNORED.has(name)).sort()
    for (const entry of entries) {
      const path = join(folder, entry)
      const inside = nameIn(dir, path)
      const stats = await lstat(path)
      if (stats.isSymbolicLink()) await refuseEscape(path, dir, `${shown}/${inside}`, 'the folder of the skill')
      // Links to folders are not followed: they may lead to a circle.
      else if (stats.isDirectory()) await visit(path)
      else if (stats.isFile()) {
        left -= stats.size
        if (left < 0 || files.length === MAX_FILES) {
          const limits = `${MAX_FILES} files and ${MAX_BYTES / 1024 / 1024} MiB`
          throw new HostError('MODULE_INVALID', `${shown}: the skill is too large: it may have ${limits}.`)
        }
        const bytes = await readInside(
          path,
          { maxBytes: Math.max(1, stats.size), within: realDir },
          `${shown}/${inside}`,
        )
        const sha256 = hash('sha256', bytes)
        files.push({ path: inside, bytes: bytes.length, sha256, mediaType: mediaTypeOf(entry) })
      }
    }
  }
  await visit(dir)
  return files.sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** Reads what was a file a moment ago: it may be a link by now. */
function readInside(path: string, limits: ReadFileLimits, shown: string): Promise<Buffer> {
  return readRegularFile(path, limits).catch((cause) => {
    throw new HostError('MODULE_INVALID', `${shown}: the file cannot be read: ${messageOf(cause)}.`, { cause })
  })
}

const IGNORED: ReadonlySet<string> = new Set(['.git', '.DS_Store', 'node_modules', '__pycache__'])

/** @throws HostError `MODULE_INVALID` for a path that is elsewhere once links are followed */
async function refuseEscape(path: string, root: string, shown: string, place: string): Promise<void> {
  const [real, realRoot] = await Promise.all([realpath(path), realpath(root)]).catch((cause) => {
    throw new HostError('MODULE_INVALID', `${shown}: the link cannot be followed: ${messageOf(cause)}.`, { cause })
  })
  if ((real + sep).startsWith(realRoot + sep)) return
  throw new HostError('MODULE_INVALID', `${shown}: the link leaves ${place}, to ${real}.`, {
    suggestions: ['Copy the file into the folder of the skill.'],
  })
}

function nameIn(root: string, path: string): string {
  return relative(root, path).replaceAll(sep, '/') || '.'
}

function mediaTypeOf(name: string): string {
  return MEDIA_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream'
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.txt': 'text/plain',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.py': 'text/x-python',
  '.sh': 'text/x-shellscript',
  '.json': 'application/json',
  '.yml': 'application/yaml',
  '.yaml': 'application/yaml',
  '.xml': 'application/xml',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
}
