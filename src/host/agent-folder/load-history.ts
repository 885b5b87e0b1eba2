import type { Path, Problem } from '../../definition/problem.ts'
import type { Log } from '../../protocols/log.ts'
import { Listeners } from '../listeners.ts'

/** Outcome of a changed agent file. */
export interface FileChange {
  /** Relative to the project. */
  readonly file: string
  readonly kind: 'registered' | 'reloaded' | 'removed' | 'rejected'
  /** Of the agent that is, or stays, in service; of the one that is gone for `removed`. */
  readonly id?: string
}

/** Version of an agent that another one replaced. */
export interface ReplacedVersion {
  /** See `AgentInfo`. */
  readonly version: string
  readonly text: string
  /** Places of secrets, from the root of the text. */
  readonly secretPaths: readonly Path[]
}

/** A load as it is remembered. */
export interface LoadRecord extends FileChange {
  /** Unix time in seconds. */
  readonly time: number
  /** Why the file was rejected. */
  readonly problems: readonly Problem[]
  /** Version that the load replaced; absent where nothing was in service under the id. */
  readonly replaced?: ReplacedVersion
}

/** Loads that are remembered, of all files together. */
const MAX_LOADS = 1000

/** The loads of agent files since the start, latest last. */
export class LoadHistory {
  readonly #records: LoadRecord[] = []
  readonly #listeners: Listeners

  constructor(log: Log) {
    this.#listeners = new Listeners('loads of agent files', log)
  }

  /** The latest loads. */
  get records(): readonly LoadRecord[] {
    return this.#records
  }

  add(change: FileChange, { problems = [], ...more }: Partial<Pick<LoadRecord, 'problems' | 'replaced'>> = {}): void {
    this.#records.push({ ...change, time: Date.now() / 1000, problems, ...more })
    if (this.#records.length > MAX_LOADS) this.#records.shift()
    this.#listeners.tell()
  }

  /**
   * Calls the listener when a file was loaded, rejected or removed.
   *
   * @returns a function that ends it
   */
  onLoad(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }
}
