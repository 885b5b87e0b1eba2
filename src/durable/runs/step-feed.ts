import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Deferred, deferred, onAbort } from '../../async.ts'
import type { RecordStore } from '../../store/record-store.ts'
import type { StepLog } from './read-run.ts'
import { changeTopic } from './run-keys.ts'
import type { StoredRun } from './run-store.ts'
import type { Step } from './steps.ts'
import { lookForEnds, readStepsOfEach } from './stored-steps.ts'

/** Polling interval of the store: a notice may be lost. */
const POLL_MS = 2000
/** Time for which the store may fail before those who wait do. */
const PATIENCE_MS = 5000

/**
 * Steps of runs of other servers, for those who follow them here. A run is read once, however many follow it, and one request to the
 * store reads what is new of all runs.
 */
export class StepFeed {
  readonly #records: RecordStore
  readonly #runs = new Map<string, FollowedRun>()
  /** Runs with news. */
  readonly #due = new Set<FollowedRun>()
  readonly #patienceMs: number
  /** When the store began to fail, by `performance.now()`. */
  #failingSinceMs: number | undefined
  #isReading = false
  #poll: NodeJS.Timeout | undefined

  constructor(records: RecordStore, patienceMs = PATIENCE_MS) {
    this.#records = records
    this.#patienceMs = patienceMs
  }

  /** Returns the steps of a run, from the first on. It ends early with the signal. */
  follow(stored: StoredRun, signal: AbortSignal): StepLog {
    const { id, facts } = stored
    const run = this.#runs.get(id) ?? this.#add(stored)
    this.#count(run, signal)
    return {
      id,
      facts,
      async read(from) {
        while (run.steps.length <= from && !run.isOver && !signal.aborted) await run.whenChanged()
        return run.steps.slice(from)
      },
    }
  }

  #add(stored: StoredRun): FollowedRun {
    const run = new FollowedRun(stored)
    this.#runs.set(run.id, run)
    run.unwatch = this.#records.watch([changeTopic(run.id)], () => this.#note(run))
    this.#poll ??= setInterval(() => this.#noteAll(), POLL_MS).unref()
    // Reads the steps that were stored before the watch began.
    this.#note(run)
    return run
  }

  #count(run: FollowedRun, signal: AbortSignal): void {
    run.followers++
    onAbort(signal, () => {
      if (--run.followers === 0) this.#remove(run)
      run.tell()
    })
  }

  #remove(run: FollowedRun): void {
    run.unwatch()
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id)
    if (this.#runs.size > 0) return
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #noteAll(): void {
    for (const run of this.#runs.values()) this.#note(run)
  }

  #note(run: FollowedRun): void {
    this.#due.add(run)
    if (!this.#isReading) void this.#readAll()
  }

  /** One request at a time; what comes during it goes with the next. */
  async #readAll(): Promise<void> {
    this.#isReading = true
    do {
      // Not at once: notices come in lots.
      await nextTurn()
      const runs = [...this.#due].filter(({ followers, isOver }) => followers > 0 && !isOver)
      this.#due.clear()
      await this.#tryReadOn(runs)
      for (const run of runs) if (run.isOver) this.#remove(run)
    } while (this.#due.size > 0)
    this.#isReading = false
  }

  /** Leaves it to the next look while the store has failed for a short time only. */
  async #tryReadOn(runs: readonly FollowedRun[]): Promise<void> {
    if (runs.length === 0) return
    try {
      await this.#readOn(runs)
      this.#failingSinceMs = undefined
    } catch (error) {
      this.#failingSinceMs ??= performance.now()
      if (performance.now() - this.#failingSinceMs < this.#patienceMs) return
      for (const run of runs) run.fail(error)
    }
  }

  async #readOn(runs: readonly FollowedRun[]): Promise<void> {
    const news = await readStepsOfEach(this.#records, runs)
    const silent: FollowedRun[] = []
    for (const [index, run] of runs.entries()) {
      const batches = news[index] ?? []
      if (batches instanceof Error) run.fail(batches)
      else if (batches.length > 0) run.add(batches)
      else silent.push(run)
    }
    // With its end a run's batches are gone.
    if (silent.length > 0) await this.#lookForEnds(silent)
  }

  async #lookForEnds(runs: readonly FollowedRun[]): Promise<void> {
    const looks = await lookForEnds(
      this.#records,
      runs.map(({ id }) => id),
    )
    for (const [index, run] of runs.entries()) {
      const look = looks[index]
      if (look === undefined || look === 'gone') run.end(run.steps)
      else if (look instanceof Error) run.fail(look)
      else if (look !== 'running') run.end(look)
    }
  }
}

/** A run of another server, as far as it is known here. */
class FollowedRun {
  readonly id: string
  steps: Step[]
  /** Number of batches in which the steps are stored. */
  batches: number
  followers = 0
  /** Nothing more comes: it has ended, or is gone. */
  isOver = false
  unwatch = () => {}
  /** Set while a reader waits. */
  #change: Deferred<void> | undefined

  constructor({ id, steps, batches }: StoredRun) {
    this.id = id
    this.steps = [...steps]
    this.batches = batches
  }

  add(batches: readonly (readonly Step[])[]): void {
    for (const steps of batches) this.steps.push(...steps)
    this.batches += batches.length
    this.tell()
  }

  /** @param steps all of them */
  end(steps: readonly Step[]): void {
    this.steps = [...steps]
    this.isOver = true
    this.tell()
  }

  /** Readers that wait fail; others read again. */
  fail(error: unknown): void {
    const change = this.#change
    this.#change = undefined
    change?.reject(error)
  }

  tell(): void {
    const change = this.#change
    this.#change = undefined
    change?.resolve()
  }

  whenChanged(): Promise<void> {
    this.#change ??= deferred()
    return this.#change.promise
  }
}
