import { HostError, messageOf } from '../errors.ts'
import { getOrAdd } from '../get-or-add.ts'
import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import { RecentlyUsed } from '../recently-used.ts'
import { type Redact, secretsIn } from '../redaction/redact.ts'
import type { RunEnd } from '../run/turn.ts'
import { toEndEvent } from './files/end-event.ts'
import { TraceLineWriter } from './files/trace-line.ts'
import type { TracedEvent } from './files/traced-event.ts'
import type { RemoteRuns, RemoteTape } from './remote-runs.ts'
import type { RunSummary } from './run-columns.ts'
import type { ListedRun } from './run-index/run-row.ts'
import type { EventsPage, EventsQuery } from './run-index/trace-query.ts'
import { LineBytes } from './thread/line-bytes.ts'
import { ServiceThread } from './thread/service-thread.ts'
import type { TraceNews, TraceQueries, TraceQuery, TraceThreadData, WorkerRequest } from './thread/worker-messages.ts'

export interface TracesOptions {
  /** Absolute. */
  readonly dir: string
  /** Maximum size of the files of one agent. */
  readonly maxBytes: number
  readonly redact: Redact
  /** Variables whose values are hidden, where they are secrets, also if a run says one in pieces. Default: `process.env`. */
  readonly secrets?: Readonly<Record<string, string | undefined>> | undefined
  readonly log: Log
  /** Name of this server, written into its traces. */
  readonly server?: string | undefined
  /** True for runs of evals: their files have a limit of their own, and push no other runs out. */
  readonly isEval?: boolean
}

/** Counts of the events so far, by outcome. */
export interface TraceCounts {
  readonly written: number
  /** Lost: they came faster than they could be written, or the disk refused them. */
  readonly dropped: number
  /** Why the latest were lost; null while all goes well. */
  readonly problem: string | null
}

const SCRIPT = new URL('./thread/trace-service', import.meta.url)
/** Lines are handed over together, at the latest after this. */
const HAND_OVER_MS = 10
const HAND_OVER_BYTES = 256 * 1024
/** Maximum size of the events waiting to be written; more are dropped and counted. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** More than run at once. */
const MAX_IGNORED = 10_000
/** Minimum interval between reports of lost events. */
const WARN_EVERY_MS = 10_000

/**
 * The traces of a project: every event of every agent as a line of a file, and what can be asked of them. An event costs its
 * caller the making of that line; the rest happens in a thread.
 */
export class Traces {
  readonly #thread: ServiceThread<WorkerRequest, TraceNews>
  readonly #writer: TraceLineWriter
  readonly #log: Log
  readonly #watchers = new Set<(runs: readonly ListedRun[]) => void>()
  /** Lines that were not handed over, by tenant and agent. */
  readonly #lines = new Map<string, Map<string, LineBytes>>()
  #keptBytes = 0
  #keptLines = 0
  #waitingBytes = 0
  #waitingLines = 0
  #written = 0
  #dropped = 0
  #droppedAndTold = 0
  #warnedMs = Number.NEGATIVE_INFINITY
  #problem: string | null = null
  #remote: RemoteRuns | undefined
  /** Runs of which nothing more is written; undefined until there is one. */
  #ignored: RecentlyUsed<true> | undefined
  #isUnwritten = false

  private constructor(
    thread: ServiceThread<WorkerRequest, TraceNews>,
    { redact, secrets = process.env, log, server }: TracesOptions,
  ) {
    this.#thread = thread
    this.#writer = new TraceLineWriter(redact, secretsIn(secrets), server)
    this.#log = log
    thread.serve({
      onNews: (news) => this.#onNews(news),
      handOver: () => this.#handOver(),
      onEnd: (reason) => this.#onEnd(reason),
      onStartedAgain: () => this.#tellWatched(),
    })
  }

  /** @throws HostError `STORE_UNAVAILABLE` when the folder cannot be used */
  static async open(options: TracesOptions): Promise<Traces> {
    const { dir, maxBytes, isEval = false } = options
    const workerData: TraceThreadData = { dir, maxBytes, isEval }
    try {
      const thread = await ServiceThread.start<WorkerRequest, TraceNews>({
        name: 'traces',
        script: SCRIPT,
        workerData,
        handOverMs: HAND_OVER_MS,
      })
      return new Traces(thread, options)
    } catch (cause) {
      throw new HostError('STORE_UNAVAILABLE', `Traces cannot be kept in ${dir}: ${messageOf(cause)}`, {
        suggestions: ['Check that the folder can be written, or start without --debug-ui.'],
        cause,
      })
    }
  }
  /** Traces everything that the agents of a host do from now on. */
  follow(host: AgentHost): void {
    host.onEvent((event) => this.record(event))
    host.onRunEnd((end) => this.recordEnd(end))
  }

  record(event: TracedEvent): void {
    if (this.#thread.failure || this.#waitingBytes + this.#keptBytes > MAX_WAITING_BYTES) {
      this.#dropped++
      this.#warnOfLoss()
      return
    }
    this.#write(event)
  }

  /** Records the end of a run, also when events come too fast to be written. */
  recordEnd(end: RunEnd): void {
    if (!this.#thread.failure) this.#write(toEndEvent(end))
  }

  /** Ends runs whose data is deleted. What they say at that, such as their answer so far, is not written. */
  endUnwritten<T>(end: () => T): T {
    this.#isUnwritten = true
    try {
      return end()
    } finally {
      this.#isUnwritten = false
    }
  }

  /** Writes nothing more of runs whose data is deleted: a tool that does not end with its run speaks later. */
  ignore(runIds: readonly string[]): void {
    this.#ignored ??= new RecentlyUsed({ maxItems: MAX_IGNORED })
    for (const id of runIds) this.#ignored.set(id, true)
  }

  ignores(runId: string): boolean {
    return this.#ignored?.get(runId) === true
  }

  /** Records that a run which waits was given up: it can no longer be continued. */
  recordGivenUp(waiting: RunEnd, reason: string): void {
    if (!this.#thread.failure) this.#write(toEndEvent({ ...waiting, status: 'cancelled', pending: [] }, reason))
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
    try {
      const answer = await this.#thread.ask((id) => ({ kind: 'query', id, name, argument }))
      return answer as TraceQueries[Q][1]
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
    if (this.#watchers.size === 1) this.#tellWatched()
    const unfollow = this.#remote?.follow()
    return () => {
      unfollow?.()
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#tellWatched()
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

  /** Resolves when the runs that were read before are published to other servers, and those of others are in the index. */
  async settled(): Promise<void> {
    await this.#remote?.settled()
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

  /** Tape of a run as the server that ran it has it; undefined where servers do not share their runs. */
  remoteTape({ server, run_id: runId }: Pick<RunSummary, 'server' | 'run_id'>): RemoteTape | undefined {
    return this.#remote?.tape(server, runId)
  }

  /** Writes the lines that wait, and closes the files. */
  async close(): Promise<void> {
    await this.#thread.close({ kind: 'close' })
  }

  #tellWatched(): void {
    this.#thread.tell({ kind: 'watch', isWatched: this.#watchers.size > 0 })
  }

  #write(event: TracedEvent): void {
    if (this.#isUnwritten || this.ignores(event.run_id ?? '')) return
    this.#keptBytes += this.#linesOf(event).add(this.#writer.write(event))
    this.#keptLines++
    if (this.#keptBytes >= HAND_OVER_BYTES) this.#thread.handOver()
    else this.#thread.handOverSoon()
  }

  #linesOf({ agent_id: agentId, tenant = '' }: TracedEvent): LineBytes {
    const ofTenant = getOrAdd(this.#lines, tenant, () => new Map<string, LineBytes>())
    return getOrAdd(ofTenant, agentId, () => new LineBytes())
  }

  #handOver(): void {
    if (this.#keptLines === 0) return
    const lines = [...this.#lines].flatMap(([tenant, agents]) =>
      [...agents].map(([agentId, kept]) => ({ agentId, tenant, bytes: kept.take() })),
    )
    this.#thread.tell(
      { kind: 'write', lines, count: this.#keptLines },
      lines.map(({ bytes }) => bytes.buffer),
    )
    this.#waitingBytes += this.#keptBytes
    this.#waitingLines += this.#keptLines
    this.#lines.clear()
    this.#keptBytes = 0
    this.#keptLines = 0
  }

  #onEnd({ message }: Error): void {
    this.#log.warn(`The thread of the traces ended, and another one is started: ${message}`)
    // With no thread, what is kept is lost, too.
    if (this.#thread.failure) this.#handOver()
    const lost = this.#waitingLines
    this.#waitingLines = 0
    this.#waitingBytes = 0
    if (lost > 0) this.#noteLost(lost, message)
  }

  #onNews(news: TraceNews): void {
    switch (news.kind) {
      case 'written':
        this.#noteWritten(news)
        break
      case 'changed':
        for (const watcher of this.#watchers) watcher(news.runs)
        break
      case 'failed':
        this.#log.error(`The index of the traces is behind: ${news.problem}`)
        break
      case 'skipped':
        this.#log.warn(news.problem)
        break
    }
  }

  #noteWritten({ count, bytes, problem }: Extract<TraceNews, { kind: 'written' }>): void {
    this.#waitingBytes -= bytes
    this.#waitingLines -= count
    this.#problem = null
    if (problem === undefined) this.#written += count
    else this.#noteLost(count, problem)
  }

  #noteLost(count: number, problem: string): void {
    this.#problem = problem
    this.#dropped += count
    this.#warnOfLoss()
  }

  #warnOfLoss(): void {
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) return
    this.#warnedMs = nowMs
    const lost = this.#dropped - this.#droppedAndTold
    this.#droppedAndTold = this.#dropped
    const reason = this.#thread.failure?.message ?? this.#problem ?? 'they come faster than they can be written'
    this.#log.warn(`Traces: ${lost} events were lost (${this.#dropped} in all): ${reason}.`)
  }
}
