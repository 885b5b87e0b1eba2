import { relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { settlesWithin } from '../../async.ts'
import { type DefinitionSource, readDefinition } from '../../definition/definition.ts'
import { AgentError, formatProblem, type Problem } from '../../definition/problem.ts'
import { hasCode, messageOf, systemCodeOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { AgentHost, RegisterOptions } from '../host.ts'
import { Listeners } from '../listeners.ts'
import { describeRefusals, type Refusal } from './describe-refusals.ts'
import { listAgentFiles } from './list-agent-files.ts'
import { type FileChange, LoadHistory, type ReplacedVersion } from './load-history.ts'
import { type AgentText, readAgentText, readClaim } from './read-agent-file.ts'

/** One agent file as it was last read. */
interface AgentFile {
  /** Absolute. */
  readonly path: string
  /** Relative to the project: how people call it. */
  readonly name: string
  hash: string
  text: string
  /** Source that the text was parsed into; dropped once the agent is in service, since it holds the whole document. */
  source: DefinitionSource | undefined
  /** The id that the text claims; undefined while it cannot be read. */
  claimedId: string | undefined
  /** The id under which the last good version is in service. */
  servedId: string | undefined
  problems: readonly Problem[]
  /** The project's files that a refused version was to consist of (absolute paths). */
  filesOfRejected: readonly string[]
  /** True where the version was refused for the agents that it calls, perhaps. */
  isRejectedCaller: boolean
  /** The load under way. */
  load: Load | undefined
}

/** A version on its way into service. */
interface Load {
  readonly controller: AbortController
  readonly finished: Promise<FileChange[]>
}

/** Options shared by all files of one update. */
interface Update {
  /** Ids in service whose file is gone; one that is taken over is struck off. */
  readonly vacatedIds: Set<string>
  /** Time that one file may hold up the others, in milliseconds. */
  readonly patienceMs: number
  /** Does not report a file whose problems are as before. */
  readonly isRetry?: boolean
  /** Files that were refused as the successor of a vacated id; present while one is looked for. */
  readonly passedOver?: readonly AgentFile[]
}

const READS_AT_ONCE = 32

/** Time after which a load that the others no longer wait for is worth a warning. */
const WARN_AFTER_MS = 3000

/**
 * The agent files of a folder, kept in step with a host. Of several files that claim an id, the one in service keeps it;
 * when it goes, the first of the others by path takes over. A version that is refused leaves the last good one in service.
 *
 * Does not watch: callers name the paths to read again. Calls must not overlap.
 */
export class AgentFolder {
  /** Absolute. */
  readonly dir: string
  /** Before any file was read, in milliseconds since 1970. */
  readonly openedAt = Date.now()
  readonly history: LoadHistory
  readonly #host: AgentHost
  readonly #log: Log
  readonly #files = new Map<string, AgentFile>()
  /** Texts of the versions in service, by id. */
  readonly #servedTexts = new Map<string, string>()
  readonly #onLate: Listeners<FileChange[]>
  /** Refusals to report together, once the code that changed is loaded by all of its users. */
  #refusals: Refusal[] | undefined
  readonly #unreadable = new Set<string>()
  /** Problems of agents in service that were warned of. */
  #unknownNames: ReadonlySet<string> = new Set()

  constructor(host: AgentHost, dir: string, log: Log) {
    this.#host = host
    this.dir = dir
    this.#log = log
    this.history = new LoadHistory(log)
    this.#onLate = new Listeners('files that loaded late', log)
  }

  /** Returns the problems of the files in their current state, in the order of their paths, and then those of agents in service. */
  problems(): Problem[] {
    return [...this.#inOrder().flatMap(({ problems }) => problems), ...this.#host.problems()]
  }

  /** The text of the version of an agent that is in service; undefined for one that came from no file. */
  sourceOf(id: string): string | undefined {
    return this.#servedTexts.get(id)
  }

  /**
   * Calls the listener with the outcome of loads that were too slow to be waited for.
   *
   * @returns a function that ends it
   */
  onLateChange(listener: (changes: FileChange[]) => void): () => void {
    return this.#onLate.add(listener)
  }

  /** The project's files that rejected agents use (absolute paths). */
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
  async scan(gone: ReadonlySet<string> = new Set(), patienceMs?: number): Promise<FileChange[]> {
    const files = await listAgentFiles(this.dir, (folder, error) => this.#warnOfFolder(folder, error))
    return this.update([...files, ...this.#files.keys()], gone, patienceMs)
  }

  /** Warns once of a folder whose agents are not served. */
  #warnOfFolder(folder: string, error: unknown): void {
    if (systemCodeOf(error) === 'ENOENT' || this.#unreadable.has(folder)) return
    this.#unreadable.add(folder)
    this.#log.warn(`${relative(this.#host.projectDir, folder)} is left out: it cannot be read: ${messageOf(error)}.`)
  }

  /** Agent files of the folder that were not looked at yet (absolute paths); none when it is not there. */
  async unknownFiles(): Promise<string[]> {
    const files = await listAgentFiles(this.dir).catch(() => [])
    return files.filter((path) => !this.#files.has(path))
  }

  /**
   * Reloads those of these files (absolute paths) that have changed, and returns the outcomes.
   *
   * @param missing those that are known to be gone for good; another that cannot be found just now stays in service
   * @param patienceMs how long one file may hold up the others; slower ones arrive through {@link AgentFolder.onLateChange}
   */
  async update(paths: Iterable<string>, missing: ReadonlySet<string>, patienceMs = Infinity): Promise<FileChange[]> {
    const changed: AgentFile[] = []
    const gone: AgentFile[] = []
    const sorted = [...new Set(paths)].sort()
    for (let first = 0; first < sorted.length; first += READS_AT_ONCE) {
      const batch = sorted.slice(first, first + READS_AT_ONCE)
      const reads = await Promise.all(batch.map(readAgentText))
      batch.forEach((path, index) => {
        const read = reads[index]
        if (read) this.#note(path, read, changed)
        else if (missing.has(path)) this.#drop(path, gone)
      })
    }
    // A renamed file is removed and added at once: its agent moves along, and is never out of service.
    const vacatedIds = new Set(gone.flatMap(({ servedId }) => servedId ?? []))
    const update = { vacatedIds, patienceMs }
    const changes: FileChange[] = []
    for (const file of changed) changes.push(...(await this.#load(file, update)))
    for (const id of vacatedIds) changes.push(...(await this.#reassignId(id, patienceMs)))
    const removed = gone.map(({ name, servedId }): FileChange => ({ file: name, kind: 'removed', ...named(servedId) }))
    for (const change of removed) this.history.add(change)
    if (changes.length + removed.length > 0) changes.push(...(await this.#retryCallers(changed, update)))
    this.#warnOfUnknownNames()
    return [...changes, ...removed]
  }

  /** Tries agents again that were refused for those that they call, such as for a circle: another of these is in service now. */
  async #retryCallers(tried: readonly AgentFile[], update: Update): Promise<FileChange[]> {
    const changes: FileChange[] = []
    for (const file of this.#inOrder()) {
      if (!file.isRejectedCaller || tried.includes(file)) continue
      changes.push(...(await this.#load(file, { ...update, isRetry: true })))
    }
    return changes
  }

  /** Warns of each name once, as long as it means no agent. */
  #warnOfUnknownNames(): void {
    const problems = new Map(this.#host.problems().map((problem) => [formatProblem(problem), problem]))
    for (const [text, { suggestions }] of problems) {
      if (!this.#unknownNames.has(text)) this.#log.warn([text, ...suggestions].join('\n  '))
    }
    this.#unknownNames = new Set(problems.keys())
  }

  /**
   * Loads the agents again that consist of any of these project files (absolute paths), and tries the refused ones.
   *
   * @param refused names of the agent files that were refused just now: the same problems are not reported again
   */
  async reloadUsers(
    changed: ReadonlySet<string>,
    patienceMs: number,
    refused: ReadonlySet<string>,
  ): Promise<FileChange[]> {
    this.#host.forgetFiles(changed)
    const users = new Set(this.#host.agentsUsing(changed).map(({ id }) => id))
    const changes: FileChange[] = []
    this.#refusals = []
    for (const file of this.#inOrder()) {
      const isUser = file.servedId !== undefined && users.has(file.servedId)
      // What a version under way consists of is not known yet.
      if (!isUser && !file.load && file.problems.length === 0) continue
      // Code does not mend a text that cannot be read.
      const isRetry = file.claimedId === undefined || refused.has(file.name)
      changes.push(...(await this.#load(file, { vacatedIds: new Set(), patienceMs, isRetry })))
    }
    this.#warnOf(this.#refusals)
    this.#refusals = undefined
    return changes
  }

  #warnOf(refusals: readonly Refusal[]): void {
    for (const text of describeRefusals(refusals)) this.#log.warn(text)
  }

  #inOrder(): AgentFile[] {
    return [...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #drop(path: string, gone: AgentFile[]): void {
    const known = this.#files.get(path)
    this.#files.delete(path)
    if (!known) return
    known.load?.controller.abort()
    gone.push(known)
  }

  /** Records a text that differs from the known one. */
  #note(path: string, read: AgentText, changed: AgentFile[]): void {
    const known = this.#files.get(path)
    if (known?.hash === read.hash) return
    known?.load?.controller.abort()
    const name = relative(this.#host.projectDir, path)
    const kept = known ?? {
      path,
      name,
      servedId: undefined,
      filesOfRejected: [],
      isRejectedCaller: false,
      load: undefined,
    }
    const file: AgentFile = Object.assign(kept, { hash: read.hash, text: read.text, ...readClaim(name, read) })
    this.#files.set(path, file)
    changed.push(file)
  }

  /** Serves a file and waits for it, but no longer than the others may be held up: then it goes on beside them. */
  async #load(file: AgentFile, update: Update): Promise<FileChange[]> {
    const earlier = file.load
    earlier?.controller.abort()
    const controller = new AbortController()
    const finished = this.#loadAfter(earlier, file, update, controller.signal)
    const load = { controller, finished }
    file.load = load
    const release = () => {
      if (file.load === load) file.load = undefined
    }
    if (await finishes(finished, update.patienceMs)) {
      release()
      return finished
    }
    const warning = setTimeout(() => {
      if (file.load === load) this.#log.warn(`${file.name} is still loading. Other changes go ahead.`)
    }, WARN_AFTER_MS).unref()
    void finished.then((changes) => {
      clearTimeout(warning)
      release()
      this.#onLate.tell(changes)
    })
    return []
  }

  async #loadAfter(
    earlier: Load | undefined,
    file: AgentFile,
    update: Update,
    signal: AbortSignal,
  ): Promise<FileChange[]> {
    await earlier?.finished
    const changes = await this.#serve(file, update, signal)
    // It was removed while it was put into service.
    if (file.servedId === undefined || this.#files.get(file.path) === file) return changes
    return [...changes, ...(await this.#reassignId(file.servedId, update.patienceMs))]
  }

  /** Registers the current version of a file. Never fails: errors become problems of this file. */
  async #serve(file: AgentFile, update: Update, signal: AbortSignal): Promise<FileChange[]> {
    const { claimedId: id, servedId, text } = file
    const { vacatedIds, patienceMs, isRetry, passedOver } = update
    if (id === undefined) return isRetry ? [] : [this.#reject(file, file.problems)]
    const takesOver = servedId !== id && vacatedIds.delete(id)
    // From now on: until it is loaded, and if it is refused, the agent must not be one without a file.
    if (takesOver) file.servedId ??= id
    const place = takesOver ? id : servedId
    const replaced = this.#versionInService(place)
    try {
      const source = file.source ?? readDefinition(text, file.name)
      await this.#put(place, source, { file: file.name, signal })
    } catch (error) {
      if (hasCode(error, 'SHUTTING_DOWN')) return []
      // A newer version of the file is on its way.
      const isOutdated = signal.aborted
      if (passedOver && !isOutdated) file.servedId = servedId
      const changes = isOutdated ? [] : this.#rejectFailed(file, error, isRetry)
      if (!takesOver && !passedOver) return changes
      return [...changes, ...(await this.#reassignId(id, patienceMs, [...(passedOver ?? []), file]))]
    }
    this.#servedTexts.set(id, text)
    file.servedId = id
    // Otherwise they are of a newer text.
    if (!signal.aborted)
      Object.assign(file, { source: undefined, problems: [], filesOfRejected: [], isRejectedCaller: false })
    const change: FileChange = { file: file.name, kind: servedId === undefined ? 'registered' : 'reloaded', id }
    this.history.add(change, replaced && { replaced })
    return servedId === undefined || servedId === id
      ? [change]
      : [change, ...(await this.#reassignId(servedId, patienceMs))]
  }

  /** The version that is about to be replaced; undefined for an id that no file serves. */
  #versionInService(id: string | undefined): ReplacedVersion | undefined {
    const info = id === undefined ? undefined : this.#host.get(id)
    const text = info && this.sourceOf(info.id)
    if (!info || text === undefined) return undefined
    const modules = this.#host.describe(info.id)?.modules ?? []
    return { version: info.version, text, secretPaths: modules.flatMap(({ secretPaths }) => secretPaths) }
  }

  /** @param place the id in service to put it in the place of, if that is still there */
  async #put(place: string | undefined, source: DefinitionSource, options: RegisterOptions): Promise<void> {
    if (place !== undefined && this.#host.get(place)) await this.#host.replace(place, source, options)
    else await this.#host.register(source, options)
  }

  /** Gives an id that no file serves to the first that waits for it; without one, unregisters its agent. */
  async #reassignId(id: string, patienceMs: number, passedOver: readonly AgentFile[] = []): Promise<FileChange[]> {
    const files = this.#inOrder()
    if (files.some(({ servedId }) => servedId === id)) return []
    const vacatedIds = new Set(this.#host.get(id) ? [id] : [])
    const successor = files.find((file) => file.claimedId === id && !passedOver.includes(file))
    if (successor) return this.#load(successor, { vacatedIds, patienceMs, passedOver })
    this.#servedTexts.delete(id)
    if (vacatedIds.size > 0) this.#host.unregister(id)
    return []
  }

  #rejectFailed(file: AgentFile, error: unknown, isRetry = false): FileChange[] {
    if (error instanceof AgentError) {
      if (isRetry && isDeepStrictEqual(error.problems, file.problems)) return []
      file.filesOfRejected = error.files
      file.isRejectedCaller = error.callsAgents
      return [this.#reject(file, error.problems)]
    }
    this.#log.error(`${file.name}: ${error instanceof Error ? error.stack : messageOf(error)}`)
    const message = `The agent failed to load: ${messageOf(error)}`
    return [this.#reject(file, [{ file: file.name, message, suggestions: [] }])]
  }

  #reject(file: AgentFile, problems: readonly Problem[]): FileChange {
    file.problems = problems
    const refusal = { file: file.name, problems, servedId: file.servedId }
    if (this.#refusals) this.#refusals.push(refusal)
    else this.#warnOf([refusal])
    const change: FileChange = { file: file.name, kind: 'rejected', ...named(file.servedId) }
    this.history.add(change, { problems })
    return change
  }
}

async function finishes(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  if (timeoutMs !== Infinity) return settlesWithin(work, timeoutMs)
  await work
  return true
}

function named(id: string | undefined): { id?: string } {
  return id === undefined ? {} : { id }
}
