import type { CleanupStack } from '../async.ts'
import type { Audit } from '../audit/audit.ts'
import type { Problem } from '../definition/problem.ts'
import type { AdapterRuns } from '../durable/adapter-runs/adapter-runs.ts'
import { ProgramRuns } from '../durable/adapter-runs/program-runs.ts'
import { makeAdapterRuns } from '../durable/adapter-runs/tenant-runs.ts'
import type { RunService } from '../durable/run-service.ts'
import { PROGRAM } from '../durable/runs/run-facts.ts'
import { getOrAdd } from '../get-or-add.ts'
import type { AgentFolder } from '../host/agent-folder/agent-folder.ts'
import type { FileChange } from '../host/agent-folder/load-history.ts'
import { watchAgents } from '../host/agent-folder/watch-agents.ts'
import type { AgentHost, ResumeOptions, RunOptions } from '../host/host.ts'
import type { WaitingRun } from '../host/waiting-run.ts'
import type { Log } from '../protocols/log.ts'
import type { Message } from '../protocols/message.ts'
import type { Sealing } from '../protocols/sealing.ts'
import type { Redact } from '../redaction/redact.ts'
import type { RunResult } from '../run/turn.ts'
import type { PendingAnswer } from '../run/waiting/pending-call.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { Traces } from '../trace/traces.ts'
import type { ProjectOptions } from './project-options.ts'

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
  /** Deletes tapes, those that are being written included; undefined where none are recorded. */
  readonly deleteTapes: ((runIds: readonly string[]) => Promise<void>) | undefined
  /** Undefined where no audit log is named. */
  readonly audit: Audit | undefined
  readonly #drainTimeoutMs: number
  readonly #cleanup: CleanupStack
  readonly #program: ProgramRuns
  #watching: ReturnType<typeof watchAgents> | undefined

  constructor(
    parts: Pick<
      AssembledProject,
      | 'host'
      | 'agents'
      | 'traces'
      | 'redact'
      | 'log'
      | 'durableRuns'
      | 'sealing'
      | 'openRecords'
      | 'deleteTapes'
      | 'audit'
    >,
    { drainTimeout }: ProjectOptions,
    cleanup: CleanupStack,
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
    this.deleteTapes = parts.deleteTapes
    this.audit = parts.audit
    this.#drainTimeoutMs = drainTimeout * 1000
    this.#cleanup = cleanup
    const { host, log, durableRuns: service } = parts
    this.#program = new ProgramRuns({ host, log, service })
  }

  run(name: string, input: string | readonly Message[], options?: RunOptions): Promise<RunResult> {
    return this.#program.run(name, input, options)
  }

  resume(runId: string, answers: readonly PendingAnswer[], options?: ResumeOptions): Promise<RunResult> {
    return this.#program.resume(runId, answers, options)
  }

  onWaiting(listener: (waiting: WaitingRun) => void): () => void {
    return this.#program.onWaiting(listener)
  }

  listWaiting(): Promise<WaitingRun[]> {
    return this.#program.list()
  }

  problems(): readonly Problem[] {
    return this.agents.problems()
  }

  /** @param isManual true leaves agents as they are until {@link AssembledProject.reload} */
  async watch(isManual = false): Promise<void> {
    const report = (changes: readonly FileChange[]) => logChanges(changes, this.log)
    this.#watching ??= watchAgents(this.host, this.agents, this.log, report, isManual)
    await this.#watching
  }

  /** Brings the agents up to date at once. */
  async reload(): Promise<void> {
    await (await this.#watching)?.reload()
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

/** Logs a line for each kind of change: code that many agents use reloads them all. */
function logChanges(changes: readonly FileChange[], log: Log): void {
  const alike = new Map<FileChange['kind'], { readonly file: string; readonly id: string }[]>()
  for (const { file, kind, id } of changes) {
    // The problems of a rejected file were logged already.
    if (kind === 'rejected') continue
    if (id === undefined) log.info(`${file}: ${kind}`)
    else getOrAdd(alike, kind, () => []).push({ file, id })
  }
  for (const [kind, agents] of alike) {
    const files = new Set(agents.map(({ file }) => file))
    log.info(`${[...files].join(', ')}: ${kind} ${agents.map(({ id }) => `'${id}'`).join(', ')}`)
  }
}
