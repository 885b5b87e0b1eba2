import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { readDefinition } from '../definition/definition.ts'
import { AgentError, formatProblem, type Problem } from '../definition/problem.ts'
import { HostError, messageOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import type { AgentHost } from './host.ts'

/** What became of an agent file that has changed. */
export interface FileChange {
  /** Relative to the project. */
  readonly file: string
  readonly kind: 'registered' | 'reloaded' | 'removed' | 'rejected'
  /** Of the agent that is, or stays, in service; of the one that is gone for `removed`. */
  readonly id?: string
}

/** A load as it is remembered. */
export interface LoadRecord extends FileChange {
  /** Unix time in seconds. */
  readonly time: number
  /** Why the file was rejected. */
  readonly problems: readonly Problem[]
}

/** One agent file as it was last read. */
interface AgentFile {
  /** Relative to the project: how people call it. */
  readonly name: string
  hash: string
  text: string
  /** The id that the text claims; undefined while it cannot be read. */
  claimedId: string | undefined
  /** The id under which the last good version is in service. */
  servedId: string | undefined
  /** The text of the version in service. */
  servedText: string
  problems: readonly Problem[]
  /** The project's files that a refused version was to consist of (absolute paths). */
  filesOfRejected: readonly string[]
}

const READS_AT_ONCE = 32
/** Loads that are remembered, of all files together. */
const MAX_LOADS = 1000

/**
 * The agent files of a folder, kept in step with a host. Of several files that claim an id, the one in service keeps it;
 * when it goes, the first of the others by path takes over. A version that is refused leaves the last good one in service.
 *
 * Knows nothing of watching: it is told which paths to look at again. Calls must not overlap.
 */
export class AgentFolder {
  /** Absolute. */
  readonly dir: string
  readonly #host: AgentHost
  readonly #log: Log
  readonly #files = new Map<string, AgentFile>()
  readonly #loads: LoadRecord[] = []
  readonly #loadListeners = new Set<() => void>()

  constructor(host: AgentHost, dir: string, log: Log) {
    this.#host = host
    this.dir = dir
    this.#log = log
  }

  /** What is wrong with the files as they are now, in the order of their paths. */
  problems(): Problem[] {
    return this.#inOrder().flatMap(({ problems }) => problems)
  }

  /** What became of the files since the start, latest last. Only the latest are remembered. */
  loads(): readonly LoadRecord[] {
    return this.#loads
  }

  /** The text of the version of an agent that is in service; undefined for one that came from no file. */
  textOf(id: string): string | undefined {
    return [...this.#files.values()].find(({ servedId }) => servedId === id)?.servedText
  }

  /**
   * Hears that a file was loaded, rejected or removed.
   *
   * @returns a function that ends it
   */
  onLoad(listener: () => void): () => void {
    this.#loadListeners.add(listener)
    return () => this.#loadListeners.delete(listener)
  }

  /** The project's files that refused agents were to consist of (absolute paths). */
  filesOfRejected(): string[] {
    return this.#inOrder().flatMap(({ filesOfRejected }) => filesOfRejected)
  }

  /** Every agent file that is known (absolute paths). */
  paths(): string[] {
    return [...this.#files.keys()]
  }

  /**
   * Looks at the whole folder again.
   *
   * @throws HostError `PROJECT_INVALID` when it is not there or cannot be read
   */
  async scan(gone: ReadonlySet<string> = new Set()): Promise<FileChange[]> {
    return this.update([...(await listAgentFiles(this.dir)), ...this.#files.keys()], gone)
  }

  /** Agent files of the folder that were not looked at yet (absolute paths); none when it is not there. */
  async unknownFiles(): Promise<string[]> {
    const files = await listAgentFiles(this.dir).catch(() => [])
    return files.filter((path) => !this.#files.has(path))
  }

  /**
   * Looks at these files (absolute paths) again, and says what became of those that have changed.
   *
   * @param missing those that are known to be gone for good; another that cannot be found just now stays in service
   */
  async update(paths: Iterable<string>, missing: ReadonlySet<string>): Promise<FileChange[]> {
    const changed: AgentFile[] = []
    const gone: AgentFile[] = []
    const sorted = [...new Set(paths)].sort()
    for (let first = 0; first < sorted.length; first += READS_AT_ONCE) {
      const batch = sorted.slice(first, first + READS_AT_ONCE)
      const reads = await Promise.all(batch.map(readText))
      batch.forEach((path, index) => {
        const read = reads[index]
        if (read) this.#note(path, read, changed)
        else if (missing.has(path)) this.#drop(path, gone)
      })
    }
    // A file that was renamed is gone and new at once: its agent is handed on, and never out of service.
    const vacatedIds = new Set(gone.flatMap(({ servedId }) => servedId ?? []))
    const changes: FileChange[] = []
    for (const file of changed) changes.push(...(await this.#serve(file, vacatedIds)))
    for (const id of vacatedIds) changes.push(...(await this.#reassignId(id)))
    const removed = gone.map(({ name, servedId }): FileChange => ({ file: name, kind: 'removed', ...named(servedId) }))
    for (const change of removed) this.#remember(change)
    return [...changes, ...removed]
  }

  /** Loads the agents again that consist of any of these project files (absolute paths), and tries the refused ones. */
  async reloadUsers(changed: ReadonlySet<string>): Promise<FileChange[]> {
    await this.#host.forgetFiles(changed)
    const users = new Set(this.#host.agentsUsing(changed).map(({ id }) => id))
    const changes: FileChange[] = []
    for (const file of this.#inOrder()) {
      const isUser = file.servedId !== undefined && users.has(file.servedId)
      if (isUser || file.problems.length > 0) changes.push(...(await this.#serve(file, new Set())))
    }
    return changes
  }

  #inOrder(): AgentFile[] {
    return [...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #drop(path: string, gone: AgentFile[]): void {
    const known = this.#files.get(path)
    if (known) gone.push(known)
    this.#files.delete(path)
  }

  /** Takes down what was read, if it is news. */
  #note(path: string, read: ReadText, changed: AgentFile[]): void {
    const known = this.#files.get(path)
    const hash = createHash('sha256').update(read.text).update(read.problem).digest('base64')
    if (known?.hash === hash) return
    const name = relative(this.#host.projectDir, path)
    const file: AgentFile = known ?? {
      name,
      hash,
      text: '',
      claimedId: undefined,
      servedId: undefined,
      servedText: '',
      problems: [],
      filesOfRejected: [],
    }
    Object.assign(file, { hash, text: read.text, ...readClaim(name, read) })
    this.#files.set(path, file)
    changed.push(file)
  }

  /**
   * Puts the version that a file now holds into service.
   *
   * @param vacatedIds ids in service whose file is gone; the one that is taken over is struck off
   */
  async #serve(file: AgentFile, vacatedIds: Set<string>): Promise<FileChange[]> {
    const { claimedId: id, servedId } = file
    if (id === undefined) return [this.#reject(file, file.problems)]
    try {
      const place = servedId !== id && vacatedIds.delete(id) ? id : servedId
      if (place === undefined) await this.#host.register(file.text, { file: file.name })
      else await this.#host.replace(place, file.text, { file: file.name })
      Object.assign(file, { servedId: id, servedText: file.text, problems: [], filesOfRejected: [] })
      const change: FileChange = { file: file.name, kind: servedId === undefined ? 'registered' : 'reloaded', id }
      this.#remember(change)
      return servedId === undefined || servedId === id ? [change] : [change, ...(await this.#reassignId(servedId))]
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      file.filesOfRejected = error.files
      return [this.#reject(file, error.problems)]
    }
  }

  /** Gives an id that its file has given up to the first file that waits for it; without one, what is left of it goes. */
  async #reassignId(id: string): Promise<FileChange[]> {
    const inService = new Set(this.#host.get(id) ? [id] : [])
    for (const successor of this.#inOrder()) {
      if (successor.claimedId !== id || successor.servedId === id) continue
      const changes = await this.#serve(successor, inService)
      if (successor.servedId === id) return changes
    }
    if (this.#host.get(id)) this.#host.unregister(id)
    return []
  }

  #reject(file: AgentFile, problems: readonly Problem[]): FileChange {
    file.problems = problems
    const advice = problems.flatMap(({ suggestions }) => suggestions).map((text) => `\n  ${text}`)
    const stays = file.servedId === undefined ? '' : `\n  The last good version of '${file.servedId}' stays in service.`
    this.#log.warn(`${problems.map(formatProblem).join('\n')}${advice.join('')}${stays}`)
    const change: FileChange = { file: file.name, kind: 'rejected', ...named(file.servedId) }
    this.#remember(change, problems)
    return change
  }

  #remember(change: FileChange, problems: readonly Problem[] = []): void {
    this.#loads.push({ ...change, time: Date.now() / 1000, problems })
    if (this.#loads.length > MAX_LOADS) this.#loads.shift()
    for (const listener of this.#loadListeners) listener()
  }
}

function named(id: string | undefined): { id?: string } {
  return id === undefined ? {} : { id }
}

function readClaim(name: string, { text, problem }: ReadText): Pick<AgentFile, 'claimedId' | 'problems'> {
  if (problem !== '') return { claimedId: undefined, problems: [{ file: name, message: problem, suggestions: [] }] }
  try {
    return { claimedId: readDefinition(text, name).definition.id, problems: [] }
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    return { claimedId: undefined, problems: error.problems }
  }
}

/** The agent files below a folder (absolute paths). Hidden ones, and those of installed packages, are none. */
export async function listAgentFiles(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
    return paths.filter((path) => isAgentFile(relative(dir, path))).sort()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const missing = code === 'ENOENT'
    const message = missing
      ? 'is not there'
      : code === 'ENOTDIR'
        ? 'is not a folder'
        : `cannot be read: ${messageOf(cause)}`
    const suggestions = missing ? ['`agent-host init <name>` makes a project; --agent-dir names another folder.'] : []
    throw new HostError('PROJECT_INVALID', `The agent folder ${dir} ${message}.`, { cause, suggestions })
  }
}

/** @param path relative to the agent folder */
export function isAgentFile(path: string): boolean {
  return /\.ya?ml$/.test(path) && !/(^|[\\/])(\.|node_modules[\\/])/.test(path)
}

interface ReadText {
  readonly text: string
  /** Why there is no text; otherwise empty. */
  readonly problem: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** `undefined` for a file that is not there. */
async function readText(path: string): Promise<ReadText | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined
    return { text: '', problem: `The file cannot be read: ${messageOf(error)}` }
  }
  try {
    return { text: utf8.decode(bytes), problem: '' }
  } catch {
    return { text: '', problem: 'The file is not UTF-8 text.' }
  }
}
