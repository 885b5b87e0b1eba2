import { hash } from 'node:crypto'
import { existsSync, realpathSync, type Stats, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { messageOf, systemCodeOf } from '../../errors.ts'
import { isWithin } from '../../module/find-project-file.ts'
import type { Log } from '../../protocols/log.ts'
import { readRegularFile } from '../../read-regular-file.ts'
import type { AgentHost } from '../host.ts'
import type { AgentFolder } from './agent-folder.ts'
import { describeWatchFailure } from './describe-watch-failure.ts'
import { isAgentFile } from './list-agent-files.ts'
import type { FileChange } from './load-history.ts'

/** Editors write in several steps: events within this time are one change. */
const SETTLE_MS = 40
/**
 * Looks at a missing file before its agent is removed: some editors delete a file and write it again. Counted, because
 * on a busy machine the editor is as late as the looks are.
 */
const LOOKS_AT_MISSING = 15
/** Interval of the looks. */
const LOOK_MS = 10

/** chokidar drops a change that comes within 50 ms of another of the same file: each is checked once more. */
const SECOND_LOOK_MS = 120
/** Interval at which a missing watched folder or file is looked for. */
const PATH_POLL_MS = 200

/** Time that one agent may hold up the reload of others, for example by a module whose top-level code waits. */
const LOAD_PATIENCE_MS = 1000

/** Usual folders of project code; files elsewhere are watched one by one. */
const CODE_FOLDERS = ['modules', 'tools']

export interface Watching {
  /** Looks at everything again, as if all had changed. Never fails: the log tells what did. */
  reload(): Promise<void>
  close(): Promise<void>
}

/**
 * Keeps the agents of a folder, and the project code that they consist of, in step with the disk.
 *
 * @param onChange called after every change with the outcome for each file
 * @param isManual true leaves everything as it is until `reload`
 * @returns when every folder is watched: later changes are noticed
 */
export async function watchAgents(
  host: AgentHost,
  folder: AgentFolder,
  log: Log,
  onChange: (changes: FileChange[]) => void,
  isManual = false,
): Promise<Watching> {
  const watcher = new AgentWatcher(host, folder, log, onChange)
  try {
    if (isManual) await watcher.remember()
    else await watcher.start()
  } catch (error) {
    await watcher.close()
    throw error
  }
  return watcher
}

class AgentWatcher implements Watching {
  readonly #host: AgentHost
  readonly #folder: AgentFolder
  readonly #log: Log
  readonly #onChange: (changes: FileChange[]) => void
  readonly #changed = new Set<string>()
  readonly #codeFolders: readonly string[]
  readonly #folders: readonly string[]
  readonly #timers = new Set<NodeJS.Timeout>()
  /** Of the project's code: touching a file without changing it has no effect. */
  readonly #hashes = new Map<string, string>()
  readonly #watchedFiles = new Set<string>()
  /** When the last reading began, in milliseconds since 1970: a file that changed later may have been read before. */
  #readAt: number
  readonly #awaited = new Set<string>()
  readonly #failures = new Set<string>()
  /** Links that the log has warned of. */
  readonly #upwardLinks = new Set<string>()
  readonly #inodes = new Map<string, number | undefined>()
  #watcher: FSWatcher | undefined
  #stopListening: () => void = () => {}
  #settling = false
  #closed = false
  #mustScan = false
  #working: Promise<void> = Promise.resolve()

  constructor(host: AgentHost, folder: AgentFolder, log: Log, onChange: (changes: FileChange[]) => void) {
    this.#host = host
    this.#folder = folder
    this.#log = log
    this.#onChange = onChange
    this.#readAt = folder.openedAt
    this.#codeFolders = CODE_FOLDERS.map((name) => join(host.projectDir, name))
    this.#folders = [folder.dir, ...this.#codeFolders]
  }

  async start(): Promise<void> {
    for (const folder of this.#folders) this.#inodes.set(folder, inodeOf(folder))
    const watcher = watch(this.#folders.filter(existsSync), {
      ignoreInitial: true,
      atomic: false,
      // Folders that cannot be read are warned of where agents are read from them.
      ignorePermissionErrors: true,
      ignored: (path, stats) => this.#isIgnored(path, stats),
    })
    this.#watcher = watcher
    watcher.on('all', (event, path) => this.#onEvent(event, resolve(path)))
    watcher.on('error', (error) => this.#logFailure(error))
    this.#stopListening = this.#folder.onLateChange((changes) => void this.#report(changes))
    await new Promise<void>((ready) => watcher.once('ready', ready))
    this.#checkFolders()
    await this.#watchFilesElsewhere()
    // What was changed between the first reading and now went unseen.
    this.#note(this.#folder.dir, true)
  }

  /** Remembers how the code was when it was read, and watches nothing. */
  async remember(): Promise<void> {
    this.#stopListening = this.#folder.onLateChange((changes) => void this.#report(changes))
    await this.#watchFilesElsewhere()
  }

  reload(): Promise<void> {
    this.#work(() => this.#apply(this.#knownFiles(), true))
    return this.#working
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopListening()
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#watcher?.close()
    await this.#working
  }

  /** @param stats of a link those of itself; left out where they are not known yet */
  #isIgnored(path: string, stats: Stats | undefined): boolean {
    const inside = relative(this.#host.projectDir, path)
    if (/(^|[\\/])(node_modules|\.git|__pycache__)([\\/]|$)/.test(inside)) return true
    if (!stats?.isSymbolicLink() || !leadsUp(path)) return false
    if (!this.#upwardLinks.has(path))
      this.#log.warn(`${inside} is a link to a folder that contains it: nothing behind it is watched. Remove the link.`)
    this.#upwardLinks.add(path)
    return true
  }

  #onEvent(event: string, path: string): void {
    const isFolder = event === 'addDir' || event === 'unlinkDir'
    this.#note(path, isFolder)
    if (!isFolder) this.#later(SECOND_LOOK_MS, () => this.#note(path, false))
    const isGone = event === 'unlink' || (event === 'unlinkDir' && this.#watchedFiles.has(path))
    if (isGone && this.#isElsewhere(path)) this.#awaitPath(path)
  }

  /**
   * Waits for a path to exist. A missing path cannot be watched, and a recreated one is another to the system: its
   * watch went with the old one.
   */
  #awaitPath(path: string): void {
    if (this.#awaited.has(path)) return
    this.#awaited.add(path)
    const look = (): void => {
      if (existsSync(path)) {
        this.#awaited.delete(path)
        this.#watchAgain(path)
      } else this.#later(PATH_POLL_MS, look)
    }
    this.#later(PATH_POLL_MS, look)
  }

  #watchAgain(path: string): void {
    this.#inodes.set(path, inodeOf(path))
    this.#watcher?.unwatch(path)
    this.#watcher?.add(path)
    this.#note(path, this.#folders.includes(path))
    // chokidar does not report the files of an added folder.
    for (const file of this.#knownFiles()) if (file.startsWith(path + sep)) this.#note(file, false)
  }

  /** Events of a folder that is removed and created again at once are not reliable. */
  #checkFolders(): void {
    if (!this.#watcher) return
    for (const folder of this.#folders) {
      const inode = inodeOf(folder)
      if (inode === undefined) this.#awaitPath(folder)
      else if (inode !== this.#inodes.get(folder)) this.#watchAgain(folder)
    }
  }

  #later(delayMs: number, act: () => void): void {
    // Work that continues after close must not start new timers.
    if (this.#closed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, delayMs)
    this.#timers.add(timer)
  }

  #note(path: string, isFolder: boolean): void {
    this.#changed.add(path)
    // A folder was made, moved or removed: not every file below it is named.
    if (isFolder && this.#isAround(path)) this.#mustScan = true
    if (this.#settling) return
    this.#settling = true
    this.#later(SETTLE_MS, () => this.#settle())
  }

  /** One change at a time; later events are the next. */
  #settle(): void {
    this.#settling = false
    const changed = new Set(this.#changed)
    const mustScan = this.#mustScan
    this.#changed.clear()
    this.#mustScan = false
    this.#work(() => this.#apply(changed, mustScan))
  }

  #work(work: () => Promise<void>): void {
    this.#working = this.#working
      .then(work)
      .catch((error) => this.#log.error(`The agents could not be brought up to date: ${messageOf(error)}`))
  }

  async #apply(changed: ReadonlySet<string>, mustScan: boolean): Promise<void> {
    this.#readAt = Date.now()
    this.#checkFolders()
    const changes = mustScan ? await this.#scan() : await this.#update(changed)
    const code = await this.#changedCode(changed)
    const refused = new Set(changes.flatMap(({ kind, file }) => (kind === 'rejected' ? [file] : [])))
    if (code.size > 0) changes.push(...(await this.#folder.reloadUsers(code, LOAD_PATIENCE_MS, refused)))
    await this.#report(changes)
  }

  async #report(changes: FileChange[]): Promise<void> {
    if (changes.length === 0 || this.#closed) return
    await this.#watchFilesElsewhere()
    this.#onChange(mergeChanges(changes))
  }

  async #update(changed: ReadonlySet<string>): Promise<FileChange[]> {
    const files = [...changed].filter((path) => this.#isAround(path) && isAgentFile(relative(this.#folder.dir, path)))
    const missing = await this.#waitForReturn(files)
    if (missing.size === 0) return this.#folder.update(files, missing, LOAD_PATIENCE_MS)
    // One that is gone may have been renamed, and its new name not yet been told.
    const renamed = await this.#folder.unknownFiles()
    return this.#folder.update([...files, ...renamed], missing, LOAD_PATIENCE_MS)
  }

  async #scan(): Promise<FileChange[]> {
    const missing = await this.#waitForReturn(this.#folder.paths())
    return existsSync(this.#folder.dir)
      ? this.#folder.scan(missing, LOAD_PATIENCE_MS)
      : this.#folder.update(missing, missing, LOAD_PATIENCE_MS)
  }

  /** Gives files the time to come back; answers those that were missing all the while. */
  async #waitForReturn(paths: readonly string[]): Promise<Set<string>> {
    const missing = new Set(paths.filter((path) => !existsSync(path)))
    for (let look = 0; missing.size > 0 && look < LOOKS_AT_MISSING; look++) {
      await new Promise((resume) => setTimeout(resume, LOOK_MS))
      for (const path of missing) if (existsSync(path)) missing.delete(path)
    }
    return missing
  }

  /** Returns true for the agent folder, and for any path in it or above it. */
  #isAround(path: string): boolean {
    const { dir } = this.#folder
    return path === dir || path.startsWith(dir + sep) || dir.startsWith(path + sep)
  }

  /** Those of the paths that are project code, and have changed; folders that agents consist of, when anything in them has. */
  async #changedCode(paths: ReadonlySet<string>): Promise<Set<string>> {
    const known = this.#knownFiles()
    const folders = [...paths].flatMap((path) => foldersAround(path).filter((folder) => known.has(folder)))
    const changed = new Set<string>()
    for (const path of new Set([...paths, ...folders])) {
      if (!known.has(path) && !this.#isInCodeFolder(path)) continue
      const hash = await hashOf(path)
      if (this.#hashes.get(path) !== hash) changed.add(path)
      this.#hashes.set(path, hash)
    }
    return changed
  }

  async #watchFilesElsewhere(): Promise<void> {
    for (const file of this.#knownFiles()) {
      if (this.#watchedFiles.has(file)) continue
      this.#watchedFiles.add(file)
      // First: a change that comes between the two is later than the reading.
      const hash = await hashOf(file)
      const isAsRead = (await changedAt(file)) <= this.#readAt
      this.#hashes.set(file, isAsRead ? hash : 'not as it was read')
      if (!this.#watcher) continue
      if (!isAsRead) this.#note(file, false)
      if (!this.#isElsewhere(file)) continue
      if (!existsSync(file)) this.#awaitPath(file)
      else {
        this.#watcher.add(file)
        // What changes until the watch is in place goes unseen.
        this.#later(SECOND_LOOK_MS, () => this.#note(file, false))
      }
    }
  }

  /** The project's files that agents consist of, were to, or once did: what was loaded of them is kept (absolute paths). */
  #knownFiles(): Set<string> {
    return new Set([...this.#host.files(), ...this.#folder.filesOfRejected(), ...this.#watchedFiles])
  }

  #isInCodeFolder(path: string): boolean {
    return this.#codeFolders.some((folder) => path.startsWith(folder + sep))
  }

  /** Returns true for a file that lies in none of the watched folders. */
  #isElsewhere(path: string): boolean {
    return !this.#folders.some((folder) => path.startsWith(folder + sep))
  }

  /** Told once of each kind: a limit of the system is met by every folder. */
  #logFailure(error: unknown): void {
    const kind = systemCodeOf(error) ?? messageOf(error)
    if (this.#failures.has(kind)) return
    this.#failures.add(kind)
    this.#log.error(describeWatchFailure(error))
  }
}

/** One outcome per file and agent, the last: an agent whose file and code change together loads twice. */
function mergeChanges(changes: readonly FileChange[]): FileChange[] {
  const merged = new Map<string, FileChange>()
  for (const change of changes) {
    const key = JSON.stringify([change.file, change.id])
    const isNew = merged.get(key)?.kind === 'registered' && change.kind === 'reloaded'
    merged.set(key, isNew ? { ...change, kind: 'registered' } : change)
  }
  return [...merged.values()]
}

/** In milliseconds since 1970: of a folder, when anything in it last changed; 0 for a file that is missing. */
async function changedAt(path: string): Promise<number> {
  const inside = isFolder(path) ? await entriesOf(path).catch(() => []) : []
  return Math.max(...['', ...inside].map((entry) => statOf(join(path, entry))?.ctimeMs ?? 0))
}

function inodeOf(path: string): number | undefined {
  return statOf(path)?.ino
}

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false })
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false
}

/** Everything in a folder, and in the folders that links in it lead to. */
async function entriesOf(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    found.push(entry.name)
    const path = join(folder, entry.name)
    const isWalked = entry.isSymbolicLink() ? isFolder(path) && !leadsUp(path) : entry.isDirectory()
    if (isWalked) for (const inner of await entriesOf(path)) found.push(join(entry.name, inner))
  }
  return found
}

/** Returns true for a link to a folder that contains it, such as `/`: following it never ends, or walks the whole disk. */
function leadsUp(link: string): boolean {
  try {
    return isWithin(realpathSync(link), realpathSync(dirname(link)))
  } catch {
    // It leads nowhere, or was removed meanwhile.
    return false
  }
}

/** Of a file its content; of a folder the names, sizes and times of everything in it. */
async function hashOf(path: string): Promise<string> {
  const content = await (isFolder(path) ? describeFolder(path) : readRegularFile(path)).catch(() => undefined)
  return content ? hash('sha256', content, 'base64') : 'missing'
}

async function describeFolder(path: string): Promise<string> {
  const entries = await entriesOf(path)
  const lines = entries.map((entry) => {
    const { size, mtimeMs } = statOf(join(path, entry)) ?? {}
    return `${entry} ${size} ${mtimeMs}`
  })
  return lines.sort().join('\n')
}

function foldersAround(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [folder, ...foldersAround(folder)]
}
