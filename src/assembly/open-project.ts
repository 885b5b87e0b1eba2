import { join } from 'node:path'
import { CleanupStack } from '../async.ts'
import type { Problem } from '../definition/problem.ts'
import type { AdapterRuns } from '../durable/adapter-runs/adapter-runs.ts'
import { makeAdapterRuns } from '../durable/adapter-runs/tenant-runs.ts'
import type { Translation } from '../durable/adapter-runs/translation.ts'
import { WaitingRuns } from '../durable/approvals/waiting-runs.ts'
import { RunService } from '../durable/run-service.ts'
import { AgentFolder } from '../host/agent-folder/agent-folder.ts'
import type { FileChange } from '../host/agent-folder/load-history.ts'
import { watchAgents } from '../host/agent-folder/watch-agents.ts'
import { AgentHost, attachBoundaries, type ResumeOptions, type RunOptions } from '../host/host.ts'
import type { WaitingRun } from '../host/waiting-run.ts'
import type { Log } from '../protocols/log.ts'
import type { Message } from '../protocols/message.ts'
import type { Run } from '../protocols/run.ts'
import type { Sealing } from '../protocols/sealing.ts'
import { SharedRuns } from '../replicas/shared-runs.ts'
import type { RunResult } from '../run/turn.ts'
import type { PendingAnswer } from '../run/waiting/pending-call.ts'
import { LazyStore } from '../store/lazy-store.ts'
import { isRemote } from '../store/open-store.ts'
import { recordStorage } from '../store/record-storage.ts'
import type { RecordStore } from '../store/record-store.ts'
import { recordSealing } from '../store/sealing.ts'
import { SharedStore } from '../store/shared-store.ts'
import { TapeRecorder } from '../tape/recording/tape-recorder.ts'
import { TapeWriter } from '../tape/recording/tape-writer.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import { makeRedact, type Redact } from '../trace/redact.ts'
import { Traces } from '../trace/traces.ts'
import { describeFault, levelOfFailure, makeDescribeFailure } from './failures.ts'
import { type LogLevel, openLog } from './project-log.ts'
import { logSteps } from './step-log.ts'
import { TapeSweeper } from './tape-sweeper.ts'

/** The options of a project, complete and checked. */
export interface ProjectOptions {
  /** Absolute. Every relative path belongs to it. */
  readonly projectDir: string
  /** Absolute. */
  readonly agentDir: string
  /** Address at which people reach the server, without a slash at the end. */
  readonly publicUrl?: string | undefined
  /** Absolute: folder of the embedded store. */
  readonly responsesDir: string
  /** Store of responses and records: `sqlite`, in that folder, `postgres://...`, `redis://...`, or `keyv-sqlite:<path>`. */
  readonly store: string
  /** Secret that seals what clients or the store keep; undefined: the store makes one, and keeps it. */
  readonly secretKey?: string | undefined
  /** Name of this server among those that share the store. */
  readonly serverName: string
  /** Traces every call into `debug/`. */
  readonly debug: boolean
  /** Maximum size of an agent's trace files in MiB; the oldest are deleted. */
  readonly debugMaxMb: number
  /** Part of the runs of which a tape is recorded in `debug/tapes/`, from 0 to 1. */
  readonly record: number
  readonly logLevel: LogLevel
  readonly maxConcurrentRuns: number
  /** Background runs, beside those. */
  readonly maxBackgroundRuns: number
  /** Background runs that may wait for a slot. */
  readonly maxQueuedRuns: number
  /** BullMQ that distributes queued runs, `redis://...`; undefined: workers poll the store. */
  readonly queue?: string | undefined
  /** Leaves background runs to other processes that share the store. */
  readonly noWorker: boolean
  /** Days after which stored runs are removed; undefined keeps them. */
  readonly retentionDays?: number | undefined
  /** Messages of one conversation. */
  readonly maxHistoryItems: number
  /** Of one conversation, in MiB. */
  readonly maxHistoryMb: number
  /** Turns of one conversation. */
  readonly maxHistoryTurns: number
  /** Seconds; 0 for no limit. */
  readonly runTimeout: number
  /** Seconds that running work gets to end when the project is closed. */
  readonly drainTimeout: number
}

/** Parts that the caller of {@link openProject} has already. */
export interface ProjectParts {
  /** Loads the part of the responses adapter that its stored runs need: a project does not depend on adapters. */
  readonly loadTranslation: () => Promise<Translation>
  /** Default: lines on standard output. */
  readonly log?: Log | undefined
  /** Default: takes out the secrets of `process.env`. */
  readonly redact?: Redact | undefined
  /** Variables whose values are hidden in traces and tapes, where they are secrets. Default: `process.env`. */
  readonly secrets?: Readonly<Record<string, string | undefined>> | undefined
  /** Has debug mode log each call of a tool. Default: true. */
  readonly logsSteps?: boolean | undefined
}

/** A project with its agents in service. */
export interface OpenedProject {
  readonly host: AgentHost
  /** Puts `[redacted]` in the place of the secrets of the environment. */
  readonly redact: Redact
  readonly log: Log
  /** Problems of the agent files in their current state, in the order of their paths. */
  problems(): readonly Problem[]
  /**
   * Runs one turn of an agent to its end, as `host.run`. A run that ends `waiting` is stored before this returns; any process that
   * opens the project can resume it.
   */
  run(name: string, input: string | readonly Message[], options?: RunOptions): Promise<RunResult>
  /**
   * Continues a waiting run. Of several callers one does; calls without an answer keep waiting, as a new run.
   *
   * @throws HostError `RUN_NOT_WAITING` when it does not wait, or was resumed before; `REQUEST_INVALID` for an answer that does not
   *   fit; and as `host.run`
   */
  resume(runId: string, answers: readonly PendingAnswer[], options?: ResumeOptions): Promise<RunResult>
  /** Calls `listener` with each run of {@link OpenedProject.run} that begins to wait. Returns a function that ends it. */
  onWaiting(listener: (waiting: WaitingRun) => void): () => void
  /** Returns the runs that wait, those of other processes included. */
  listWaiting(): Promise<WaitingRun[]>
  /**
   * Runs that outlive this process: stored, carried out by any process that opens the project, shown by the responses API and the inbox.
   * Opened at their first use, with a worker unless `noWorker` is set.
   */
  readonly runs: AdapterRuns
  /**
   * Picks up edits of agent files and project code live, until the project is closed.
   *
   * @returns when every folder is watched
   */
  watch(): Promise<void>
  /** Takes no new runs, and waits for those under way (`drainTimeout`). */
  drain(): Promise<void>
  /** Drains, and releases everything: watchers, modules, threads, exporters. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Name under which data of programs is stored. */
const PROGRAM = 'program'
/** Folder of the traces, relative to the project. */
export const TRACE_FOLDER = 'debug'

/**
 * Opens a project: registers its agents, and starts tracing and telemetry if the options ask for them. What fails half way leaves
 * nothing behind.
 *
 * @throws HostError `PROJECT_INVALID` without an agent folder, `STORE_UNAVAILABLE` when traces cannot be kept,
 *   `OPTION_INVALID` for telemetry that cannot be started. An invalid agent file is logged, and one of its `problems`.
 */
export async function openProject(options: ProjectOptions, parts: ProjectParts): Promise<AssembledProject> {
  const { redact = makeRedact(process.env), secrets = process.env } = parts
  // Standard output is the program's.
  const { log = await openLog(options, redact, 2), logsSteps = true, loadTranslation } = parts
  const { projectDir, agentDir, publicUrl, maxConcurrentRuns, maxBackgroundRuns, runTimeout } = options
  const runTimeoutMs = runTimeout === 0 ? undefined : runTimeout * 1000
  const cleanup = new CleanupStack()
  try {
    const { store, responsesDir: dir } = options
    const shared = new SharedStore({ store, dir, projectDir, warn: (message) => log.warn(message) })
    const records = new LazyStore(() => shared.open())
    cleanup.add(() => records.close())
    const storage = recordStorage(() => records.open(), isRemote(options.store))
    const sealing = recordSealing(() => records.open(), options.secretKey)
    const tapes = options.record > 0 ? await openTapes(options, secrets, log) : undefined
    if (tapes) cleanup.add(() => tapes.close())
    const host = new AgentHost({
      projectDir,
      log,
      maxConcurrentRuns,
      maxBackgroundRuns,
      runTimeoutMs,
      storage,
      sealing,
      publicUrl,
    })
    if (tapes) cleanup.add(recordTapes(options, host, tapes, () => shared.open(), log))
    cleanup.add(await startTracing(host, options.serverName, { log, redact }))
    const traces = options.debug ? await openTraces(options, host, { redact, secrets, log }) : undefined
    if (traces) cleanup.add(() => traces.close())
    if (traces && logsSteps) logSteps(host, log)
    if (traces && isRemote(options.store)) cleanup.add(shareRuns(options, host, traces, log, records))
    const durableRuns = new RunService({
      limits: options,
      host,
      log,
      hasStore: () => shared.exists(),
      isShared: isRemote(options.store),
      openRecords: () => shared.open(),
      sealing,
      loadTranslation,
      describeFailure: makeDescribeFailure(options.debug, redact),
      onFailure: (error, id) => logRunFailure(error, id, log),
    })
    cleanup.add(() => durableRuns.close())
    cleanup.add(() => host.close(options.drainTimeout * 1000))
    const agents = new AgentFolder(host, agentDir, log)
    await agents.scan()
    const waiting = new WaitingRuns({ host, log, openRecords: () => records.open() })
    return new AssembledProject(
      { host, agents, traces, redact, log, durableRuns, sealing, openRecords: () => shared.open() },
      options,
      cleanup,
      waiting,
    )
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

/** Logs the failure of a run in the background, or of the queue. */
function logRunFailure(error: unknown, id: string | undefined, log: Log & { readonly level?: string }): void {
  log[levelOfFailure(error)](`${id === undefined ? 'The queue' : `Run '${id}'`}: ${describeFault(error, log)}`)
}

/** @returns a function that ends it */
function recordTapes(
  { projectDir, record: share }: ProjectOptions,
  host: AgentHost,
  writer: TapeWriter,
  openRecords: () => Promise<RecordStore>,
  log: Log,
): () => Promise<void> {
  const sweeper = new TapeSweeper({ projectDir, writer, openRecords, log })
  const onRun = ({ id, tenant }: Pick<Run, 'id' | 'tenant'>) => sweeper.note(id, tenant)
  attachBoundaries(host, new TapeRecorder({ writer, share, environment: process.env, onRun }))
  return () => sweeper.close()
}

function openTapes(
  { projectDir, debugMaxMb }: ProjectOptions,
  secrets: NonNullable<ProjectParts['secrets']>,
  log: Log,
): Promise<TapeWriter> {
  return TapeWriter.open({ projectDir, maxBytes: debugMaxMb * 1024 * 1024, secrets, log })
}

/** Records all runs of a host from now on. */
export async function openTraces(
  { projectDir, debugMaxMb, serverName: server }: ProjectOptions,
  host: AgentHost,
  { redact, secrets, log }: { redact: Redact; secrets?: ProjectParts['secrets']; log: Log },
): Promise<Traces> {
  const dir = join(projectDir, TRACE_FOLDER)
  const traces = await Traces.open({ dir, maxBytes: debugMaxMb * 1024 * 1024, redact, secrets, log, server })
  traces.follow(host)
  return traces
}

/** @returns a function that ends it */
function shareRuns(
  { serverName: name, projectDir }: ProjectOptions,
  host: AgentHost,
  traces: Traces,
  log: Log,
  records: LazyStore,
): () => Promise<void> {
  const shared = new SharedRuns({ host, traces, projectDir, name, records, log })
  traces.addRemote(shared)
  return () => shared.close()
}

/** An opened project with the parts that the server and the commands need beside the public ones. */
export class AssembledProject implements OpenedProject {
  readonly host: AgentHost
  /** The files that the agents come from. */
  readonly agents: AgentFolder
  /** Traces of the agents; only in debug mode. */
  readonly traces: Traces | undefined
  readonly redact: Redact
  readonly log: Log
  readonly runs: AdapterRuns
  readonly durableRuns: RunService
  readonly sealing: Sealing
  /** Opens the store of the project for one more part of it, which closes it. */
  readonly openRecords: () => Promise<RecordStore>
  readonly #drainTimeoutMs: number
  readonly #cleanup: CleanupStack
  readonly #waiting: WaitingRuns
  #watching: ReturnType<typeof watchAgents> | undefined

  constructor(
    parts: Pick<
      AssembledProject,
      'host' | 'agents' | 'traces' | 'redact' | 'log' | 'durableRuns' | 'sealing' | 'openRecords'
    >,
    { drainTimeout }: ProjectOptions,
    cleanup: CleanupStack,
    waiting: WaitingRuns,
  ) {
    this.host = parts.host
    this.agents = parts.agents
    this.traces = parts.traces
    this.redact = parts.redact
    this.log = parts.log
    this.durableRuns = parts.durableRuns
    this.sealing = parts.sealing
    this.runs = makeAdapterRuns(parts.durableRuns, parts.host, PROGRAM)
    this.openRecords = parts.openRecords
    this.#drainTimeoutMs = drainTimeout * 1000
    this.#cleanup = cleanup
    this.#waiting = waiting
  }

  run(name: string, input: string | readonly Message[], options?: RunOptions): Promise<RunResult> {
    return this.#waiting.run(name, input, options)
  }

  resume(runId: string, answers: readonly PendingAnswer[], options?: ResumeOptions): Promise<RunResult> {
    return this.#waiting.resume(runId, answers, options)
  }

  onWaiting(listener: (waiting: WaitingRun) => void): () => void {
    return this.#waiting.onWaiting(listener)
  }

  listWaiting(): Promise<WaitingRun[]> {
    return this.#waiting.list()
  }

  problems(): readonly Problem[] {
    return this.agents.problems()
  }

  async watch(): Promise<void> {
    this.#watching ??= watchAgents(this.host, this.agents, this.log, (changes) => logChanges(changes, this.log))
    await this.#watching
  }

  async drain(): Promise<void> {
    // The caller of `watch` has the error of one that failed to start.
    const watching = await this.#watching?.catch(() => undefined)
    await watching?.close()
    await this.host.close(this.#drainTimeoutMs)
  }

  async close(): Promise<void> {
    await this.drain()
    await this.#cleanup.run()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function logChanges(changes: readonly FileChange[], log: Log): void {
  for (const { file, kind, id } of changes) {
    // The problems of a rejected file were logged already.
    if (kind !== 'rejected') log.info(id === undefined ? `${file}: ${kind}` : `${file}: ${kind} '${id}'`)
  }
}
