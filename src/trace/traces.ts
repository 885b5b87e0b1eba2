import { Worker } from 'node:worker_threads'
import { HostError, messageOf } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { AgentEvent } from '../run/calls/call-event.ts'
import type { RunEnd } from '../run/turn.ts'
import { toEndEvent } from './end-event.ts'
import { LineBuffer } from './line-buffer.ts'
import type { Redact } from './redact.ts'
import type { RemoteRuns } from './remote-runs.ts'
import type { RunSummary } from './run-summary.ts'
import type { ListedRun } from './runs-table.ts'
import { findThreadScript } from './thread-script.ts'
import { TraceLineWriter } from './trace-line.ts'
import type { EventsPage, EventsQuery } from './trace-query.ts'
import type { TracedEvent } from './traced-event.ts'
import type { TraceQueries, TraceQuery, TraceThreadData, WorkerMessage, WorkerRequest } from './worker-messages.ts'

export interface TracesOptions {
  /** Absolute. */
  readonly dir: string
  /** Maximum size of the files of one agent. */
  readonly maxBytes: number
  readonly redact: Redact
  readonly log: Log
  /** Name of this server, written into its traces. */
  readonly server?: string | undefined
}

/** Counts of the events so far, by outcome. */
export interface TraceCounts {
  readonly written: number
  /** Lost: they came faster than they could be written, or the disk refused them. */
  readonly dropped: number
  /** Why the latest were lost; null while all goes well. */
  readonly problem: string | null
}

const SCRIPT = new URL('./trace-service', import.meta.url)
/** Lines are handed over together, at the latest after this. */
const FLUSH_INTERVAL_MS = 10
const HAND_OVER_BYTES = 256 * 1024
/** Maximum size of the events waiting to be written; more are dropped and counted. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
const CLOSE_TIMEOUT_MS = 5000
/** Minimum interval between reports of lost events. */
const WARN_EVERY_MS = 10_000

/**
 * The traces of a project: every event of every agent as a line of a file, and what can be asked of them. An event costs its
 * caller the making of that line; the rest happens in a thread.
 */
export class Traces {
  readonly #worker: Worker
  readonly #writer: TraceLineWriter
  readonly #log: Log
  readonly #asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  readonly #watchers = new Set<(runs: readonly ListedRun[]) => void>()
  readonly #lines = new LineBuffer()
  #waitingBytes = 0
  #handingOver: NodeJS.Timeout | undefined
  #questions = 0
  #written = 0
  #dropped = 0
  #droppedAndTold = 0
  #warnedMs = Number.NEGATIVE_INFINITY
  #problem: string | null = null
  #failure: Error | undefined
  #remote: RemoteRuns | undefined
  #onReady: { resolve: () => void; reject: (error: Error) => void } | undefined
  #onClosed: () => void = () => {}

  private constructor(worker: Worker, { redact, log, server }: TracesOptions) {
    this.#worker = worker
    this.#writer = new TraceLineWriter(redact, server)
    this.#log = log
    worker.on('message', (news: WorkerMessage) => this.#onMessage(news))
    worker.on('error', (error) => this.#onWorkerExit(error))
    worker.on('exit', () => this.#onWorkerExit(new Error('the traces were closed')))
  }

  /** @throws HostError `STORE_UNAVAILABLE` when the folder cannot be used */
  static async open(options: TracesOptions): Promise<Traces> {
    const { dir, maxBytes } = options
    const data: TraceThreadData = { dir, maxBytes }
    // Without what the process preloads: relative paths in it may lead nowhere by now.
    const traces = new Traces(new Worker(await findThreadScript(SCRIPT), { workerData: data, execArgv: [] }), options)
    try {
      await new Promise<void>((resolve, reject) => {
        traces.#onReady = { resolve, reject }
      })
    } catch (cause) {
      throw new HostError('STORE_UNAVAILABLE', `Traces cannot be kept in ${dir}: ${messageOf(cause)}`, {
        suggestions: ['Check that the folder can be written, or start without --debug-ui.'],
        cause,
      })
    }
    return traces
  }

  /** Traces everything that the agents of a host do from now on. */
  follow(host: AgentHost): void {
    host.onEvent((event) => this.record(event))
    host.onRunEnd((end) => this.recordEnd(end))
  }

  record(event: AgentEvent): void {
    if (this.#failure || this.#waitingBytes + this.#lines.bytes > MAX_WAITING_BYTES) {
      this.#dropped++
      this.#warnOfLoss()
      return
    }
    this.#write(event)
  }

  /** Records the end of a run, also when events come too fast to be written. */
  recordEnd(end: RunEnd): void {
    if (!this.#failure) this.#write(toEndEvent(end))
  }

  counts(): TraceCounts {
    return { written: this.#written, dropped: this.#dropped, problem: this.#problem }
  }

  /**
   * Queries the thread. Everything recorded before is part of the answer.
   *
   * @throws HostError `STORE_UNAVAILABLE`
   */
  async query<Q extends TraceQuery>(name: Q, argument: TraceQueries[Q][0]): Promise<TraceQueries[Q][1]> {
    this.#flush()
    const id = ++this.#questions
    try {
      if (this.#failure) throw this.#failure
      return (await new Promise<unknown>((resolve, reject) => {
        this.#asked.set(id, { resolve, reject })
        this.#worker.ref()
        this.#tell({ kind: 'query', id, name, argument })
      })) as TraceQueries[Q][1]
    } catch (cause) {
      throw new HostError('STORE_UNAVAILABLE', `The traces cannot be read: ${messageOf(cause)}`, { cause })
    }
  }

  /**
   * Calls the listener with runs that have begun, gone on or ended, some time after they did.
   *
   * @returns a function that ends it
   */
  watch(watcher: (runs: readonly ListedRun[]) => void): () => void {
    this.#watchers.add(watcher)
    if (this.#watchers.size === 1) this.#tell({ kind: 'watch', isWatched: true })
    const unfollow = this.#remote?.follow()
    return () => {
      unfollow?.()
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#tell({ kind: 'watch', isWatched: false })
    }
  }

  /** Has queries know the runs of other servers, too. */
  addRemote(remote: RemoteRuns): void {
    this.#remote = remote
  }

  /** True when the runs of other servers are known, too. */
  get isShared(): boolean {
    return this.#remote !== undefined
  }

  /** Updates the index with the runs that other servers published. */
  async refresh(): Promise<void> {
    await this.#remote?.refresh()
  }

  /**
   * Events of a run in their order, from the server that has them.
   *
   * @returns beside them, in words, where they are when they cannot be read
   */
  async events(
    run: Pick<RunSummary, 'server'>,
    query: EventsQuery,
  ): Promise<EventsPage & { readonly elsewhere: string | null }> {
    const page = await this.query('events', query)
    if (!page.isElsewhere || !this.#remote) return { ...page, elsewhere: null }
    return this.#remote.events(run.server, query)
  }

  /** Flushes pending lines, and closes the files. */
  async close(): Promise<void> {
    if (this.#failure) return
    this.#flush()
    this.#worker.ref()
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)
      this.#tell({ kind: 'close' })
    })
    clearTimeout(timer)
    await this.#worker.terminate()
  }

  #write(event: TracedEvent): void {
    this.#lines.add(event.agent_id, event.tenant ?? '', this.#writer.write(event))
    this.#handOverSoon()
  }

  #handOverSoon(): void {
    if (this.#lines.bytes >= HAND_OVER_BYTES) this.#flush()
    else this.#handingOver ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS).unref()
  }

  #flush(): void {
    clearTimeout(this.#handingOver)
    this.#handingOver = undefined
    if (this.#lines.bytes === 0) return
    const batch = this.#lines.take()
    const buffers = batch.chunks.map(({ buffer }) => buffer)
    this.#waitingBytes += batch.bytes
    this.#tell({ kind: 'write', batch }, buffers)
  }

  /** @param buffers that go over to the thread */
  #tell(job: WorkerRequest, buffers: readonly ArrayBuffer[] = []): void {
    if (!this.#failure) this.#worker.postMessage(job, buffers)
  }

  #onMessage(news: WorkerMessage): void {
    switch (news.kind) {
      case 'ready':
        // The thread alone keeps no process alive.
        this.#worker.unref()
        this.#onReady?.resolve()
        break
      case 'written':
        this.#noteWritten(news)
        break
      case 'answer':
        this.#settle(news)
        break
      case 'changed':
        for (const watcher of this.#watchers) watcher(news.runs)
        break
      case 'failed':
        this.#log.error(`The index of the traces is behind: ${news.problem}`)
        break
      case 'closed':
        this.#onClosed()
        break
    }
  }

  #noteWritten({ count, bytes, problem }: Extract<WorkerMessage, { kind: 'written' }>): void {
    this.#waitingBytes -= bytes
    this.#problem = problem ?? null
    if (problem === undefined) this.#written += count
    else {
      this.#dropped += count
      this.#warnOfLoss()
    }
  }

  #settle({ id, value, error }: Extract<WorkerMessage, { kind: 'answer' }>): void {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    if (this.#asked.size === 0) this.#worker.unref()
    if (error === undefined) asked?.resolve(value)
    else asked?.reject(new Error(error))
  }

  #warnOfLoss(): void {
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) return
    this.#warnedMs = nowMs
    const lost = this.#dropped - this.#droppedAndTold
    this.#droppedAndTold = this.#dropped
    const reason = this.#failure?.message ?? this.#problem ?? 'they come faster than they can be written'
    this.#log.warn(`Traces: ${lost} events were lost (${this.#dropped} in all): ${reason}.`)
  }

  #onWorkerExit(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.#onReady?.reject(error)
    for (const { reject } of this.#asked.values()) reject(error)
    this.#asked.clear()
    this.#onClosed()
  }
}
