import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HostError, messageOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import { RecentlyUsed } from '../../recently-used.ts'
import { LineBytes } from '../../trace/thread/line-bytes.ts'
import { ServiceThread } from '../../trace/thread/service-thread.ts'
import { pathOfTape, TAPE_FOLDER } from '../file/tape-folder.ts'
import type { EndLine, HeadLine, TapeLine } from '../file/tape-lines.ts'
import type { LineSink } from './run-recorder.ts'
import type { LinesToWrite, TapeNews, TapeRequest, TapeThreadData } from './tape-messages.ts'

export interface TapeWriterOptions {
  /** Absolute. */
  readonly projectDir: string
  /** Of all tapes together. */
  readonly maxBytes: number
  /** Variables by their names, in the place of whose values those names are written. */
  readonly secrets: Readonly<Record<string, string | undefined>>
  readonly log: Log
}

/** Head of the tapes of an agent, and the files (absolute paths) whose hashes belong to it. */
export interface HeadToWrite {
  readonly line: HeadLine
  readonly files: readonly string[]
}

const SCRIPT = new URL('./tape-service', import.meta.url)
/** Lines are handed over together, at the latest after this. */
const HAND_OVER_MS = 100
/** Lines of a run that goes on are kept until they come to this: a tape in few parts is smaller. */
const PART_BYTES = 256 * 1024
/** Or until those of all runs come to this. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024
/** Maximum size of the lines that wait to be written; further ones are lost, and their tapes incomplete. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024
/** Deleted runs whose end may still come. */
const MAX_DELETED = 1000
/** Minimum interval between reports of tapes that are incomplete. */
const WARN_EVERY_MS = 10_000

/** Writes the tapes of a project: a run hands its lines over, and a thread does the rest. */
export class TapeWriter {
  readonly #options: TapeWriterOptions
  readonly #thread: ServiceThread<TapeRequest, TapeNews>
  /** Keys of the heads that the thread has: as long as runs may have them. */
  #heads = new WeakMap<HeadToWrite, number>()
  readonly #forgotten = new FinalizationRegistry<number>((key) => this.#thread.tell({ kind: 'forget', key }))
  #lastKey = 0
  /** Runs with lines that were not handed over. */
  readonly #growing = new Set<TapeSink>()
  /** Those of them whose turn it is. */
  readonly #due = new Set<TapeSink>()
  readonly #deleted = new RecentlyUsed<true>({ maxItems: MAX_DELETED })
  /** Number of the thread that gets the lines. */
  #threads = 1
  #bytes = 0
  #waitingBytes = 0
  #incomplete = 0
  #warnedMs = Number.NEGATIVE_INFINITY

  private constructor(thread: ServiceThread<TapeRequest, TapeNews>, options: TapeWriterOptions) {
    this.#options = options
    this.#thread = thread
    thread.serve({
      onNews: (news) => this.#onNews(news),
      handOver: () => this.#handOver(),
      onEnd: ({ message }) =>
        options.log.warn(
          `The thread of the tapes ended, and another one is started; runs now have no whole tape: ${message}`,
        ),
      onStartedAgain: () => this.#onStartedAgain(),
    })
  }

  /** @throws HostError `STORE_UNAVAILABLE` when the folder cannot be used */
  static async open(options: TapeWriterOptions): Promise<TapeWriter> {
    const { projectDir, maxBytes, secrets } = options
    const dir = join(projectDir, TAPE_FOLDER)
    const workerData: TapeThreadData = { dir, projectDir, maxBytes, secrets: { ...secrets } }
    try {
      const thread = await ServiceThread.start<TapeRequest, TapeNews>({
        name: 'tapes',
        script: SCRIPT,
        workerData,
        handOverMs: HAND_OVER_MS,
      })
      return new TapeWriter(thread, options)
    } catch (cause) {
      throw new HostError('STORE_UNAVAILABLE', `Tapes cannot be kept in ${workerData.dir}: ${messageOf(cause)}`, {
        suggestions: ['Check that the folder can be written, or start with --record false.'],
        cause,
      })
    }
  }

  /**
   * Begins a tape.
   *
   * @param continues run whose tape it goes on
   * @param head called when lines are handed over
   */
  open(runId: string, continues: string | null, head: () => HeadToWrite): LineSink {
    return new TapeSink(runId, continues, head, {
      thread: () => this.#threads,
      hasRoom: () => !this.#thread.failure && this.#waitingBytes + this.#bytes <= MAX_WAITING_BYTES,
      noteAdded: (sink, bytes) => this.#noteAdded(sink, bytes),
      noteLost: (problem) => this.#warn(runId, this.#thread.failure?.message ?? problem),
    })
  }

  /** Tells whether the tape of a run is in the folder. */
  has(runId: string): boolean {
    return existsSync(pathOfTape(this.#options.projectDir, runId))
  }

  /** Deletes the tapes of these runs, those that are being written included. Settles when everything recorded before is in the files. */
  async delete(runIds: readonly string[]): Promise<void> {
    this.#thread.handOver()
    for (const id of runIds) this.#deleted.set(id, true)
    this.#thread.tell({ kind: 'delete', runIds })
    await this.finish()
    // The thread may have ended before, and tells nobody what it could not delete: this does.
    const paths = runIds.map((id) => pathOfTape(this.#options.projectDir, id))
    const deleted = await Promise.allSettled(paths.map((path) => rm(path, { force: true })))
    for (const each of deleted) if (each.status === 'rejected') throw each.reason
  }

  /** Settles when everything recorded before is in the files, or the thread has ended. */
  async finish(): Promise<void> {
    await this.#thread.ask((id) => ({ kind: 'finish', id })).catch(() => {})
  }

  close(): Promise<void> {
    return this.#thread.close({ kind: 'close' })
  }

  #noteAdded(sink: TapeSink, bytes: number): void {
    this.#growing.add(sink)
    this.#bytes += bytes
    if (this.#bytes >= MAX_KEPT_BYTES) for (const each of this.#growing) this.#due.add(each)
    else if (!sink.isDue) return
    this.#due.add(sink)
    this.#thread.handOverSoon()
  }

  #handOver(): void {
    if (this.#due.size === 0) return
    const runs: LinesToWrite[] = []
    for (const sink of this.#due) {
      this.#growing.delete(sink)
      this.#bytes -= sink.size
      const lines = sink.take(this.#keyOf(sink.head()))
      if (this.#deleted.get(lines.runId)) continue
      this.#waitingBytes += lines.bytes.length
      runs.push(lines)
    }
    this.#due.clear()
    this.#thread.tell(
      { kind: 'write', runs },
      runs.map(({ bytes }) => bytes.buffer),
    )
  }

  #keyOf(head: HeadToWrite): number {
    const known = this.#heads.get(head)
    if (known !== undefined) return known
    const key = ++this.#lastKey
    this.#heads.set(head, key)
    this.#forgotten.register(head, key)
    this.#thread.tell({ kind: 'head', key, line: JSON.stringify(head.line), files: head.files })
    return key
  }

  #onStartedAgain(): void {
    this.#threads++
    this.#heads = new WeakMap()
    this.#waitingBytes = 0
  }

  #onNews(news: TapeNews): void {
    if (news.kind === 'written') this.#waitingBytes -= news.bytes
    else this.#warn(news.runId, news.problem)
  }

  #warn(runId: string, problem: string): void {
    this.#incomplete++
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) return
    this.#warnedMs = nowMs
    this.#options.log.warn(`The tape of run ${runId} is incomplete (${this.#incomplete} in all): ${problem}.`)
  }
}

interface SinkOptions {
  /** Number of the thread that gets the lines now. */
  thread(): number
  hasRoom(): boolean
  noteAdded(sink: TapeSink, bytes: number): void
  /** Called when a run whose lines were lost has ended. */
  noteLost(problem: string): void
}

const TOO_FAST = 'calls came faster than they could be written'
const CUT_OFF = 'the thread that wrote it ended'

/** Lines of one run that were not handed over yet. */
class TapeSink implements LineSink {
  readonly head: () => HeadToWrite
  readonly #runId: string
  readonly #continues: string | null
  readonly #options: SinkOptions
  readonly #lines = new LineBytes()
  /** The one that has its first lines. */
  #thread: number | undefined
  #isEnded = false
  /** Why lines were lost. */
  #problem: string | undefined

  constructor(runId: string, continues: string | null, head: () => HeadToWrite, options: SinkOptions) {
    this.#runId = runId
    this.#continues = continues
    this.head = head
    this.#options = options
  }

  add(line: TapeLine): void {
    if (!this.#findLoss() && !this.#options.hasRoom()) this.#problem = TOO_FAST
    if (!this.#problem) this.#write(line)
  }

  end(line: EndLine): void {
    this.#isEnded = true
    const incomplete = this.#findLoss()
    this.#write(incomplete ? { ...line, incomplete } : line)
    if (incomplete) this.#options.noteLost(incomplete)
  }

  /** Of the lines that were not handed over. */
  get size(): number {
    return this.#lines.size
  }

  get isDue(): boolean {
    return this.#isEnded || this.size >= PART_BYTES
  }

  take(head: number): LinesToWrite {
    this.#thread = this.#options.thread()
    return { runId: this.#runId, continues: this.#continues, head, bytes: this.#lines.take(), isEnd: this.#isEnded }
  }

  /** Returns why lines were lost: the rest of a tape is none. */
  #findLoss(): string | undefined {
    if (this.#thread !== undefined && this.#thread !== this.#options.thread()) this.#problem ??= CUT_OFF
    return this.#problem
  }

  #write(line: TapeLine): void {
    this.#options.noteAdded(this, this.#lines.add(JSON.stringify(line)))
  }
}
