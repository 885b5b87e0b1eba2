import cluster from 'node:cluster'
import { join } from 'node:path'
import { CleanupStack } from '../async.ts'
import type { Audit } from '../audit/audit.ts'
import { RunService } from '../durable/run-service.ts'
import { AgentFolder } from '../host/agent-folder/agent-folder.ts'
import { AgentHost, VISITS } from '../host/host.ts'
import type { Limiter } from '../host/visits.ts'
import type { Log } from '../protocols/log.ts'
import { proxiesInUse } from '../proxy/proxy-agent-for.ts'
import { makeRedact, type Redact } from '../redaction/redact.ts'
import type { SharedRunsOptions } from '../replicas/shared-runs.ts'
import { LazyStore } from '../store/lazy-store.ts'
import { isRemote } from '../store/open-store.ts'
import { recordStorage } from '../store/record-storage.ts'
import { recordSealing } from '../store/sealing.ts'
import { SharedStore } from '../store/shared-store.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import type { Traces } from '../trace/traces.ts'
import { describeFault, levelOfFailure, makeDescribeFailure } from './failures.ts'
import { AssembledProject } from './opened-project.ts'
import { openLog } from './project-log.ts'
import type { ProjectOptions } from './project-options.ts'
import { logSteps } from './step-log.ts'
import type { Tapes } from './tapes.ts'

/** Parts that the caller of {@link openProject} has already. */
export interface ProjectParts {
  /** Default: lines on standard output. */
  readonly log?: Log | undefined
  /** Default: takes out the secrets of `process.env`. */
  readonly redact?: Redact | undefined
  /** Variables whose values are hidden in traces and tapes, where they are secrets. Default: `process.env`. */
  readonly secrets?: Readonly<Record<string, string | undefined>> | undefined
  /** Has debug mode log each call of a tool. Default: true. */
  readonly logsSteps?: boolean | undefined
}

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
  const { log = await openLog(options, redact, 2), logsSteps = true } = parts
  const proxies = proxiesInUse()
  if (proxies) log.info(`Requests go to ${proxies.description}. Proxies resolve names: have them refuse private ones.`)
  const { projectDir, agentDir, publicUrl, maxConcurrentRuns, maxBackgroundRuns, runTimeout } = options
  const runTimeoutMs = runTimeout === 0 ? undefined : runTimeout * 1000
  const cleanup = new CleanupStack()
  try {
    const { store, responsesDir: dir } = options
    const shared = new SharedStore({ store, dir, projectDir, warn: (message) => log.warn(message) })
    const records = new LazyStore(() => shared.open())
    cleanup.add(() => records.close())
    const storage = recordStorage(
      () => records.open(),
      isRemote(options.store),
      (message) => log.warn(message),
    )
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
    const audit = options.auditLog === undefined ? undefined : await openAudit(options.auditLog, options, host, log)
    const deleteTapes = tapes && ((runIds: readonly string[]) => tapes.delete(runIds))
    host[VISITS].openLimiter = limiterOpener(records, projectDir, log)
    const sweeper = tapes?.record(host, () => shared.open())
    if (sweeper) cleanup.add(() => sweeper.close())
    cleanup.add(await startTracing(host, options.serverName, { log, redact }))
    const traces = options.debug ? await openTraces(options, host, { redact, secrets, log }) : undefined
    if (traces) cleanup.add(() => traces.close())
    if (traces && logsSteps) logSteps(host, log, redact)
    // The processes of `serve --processes` share their runs, too: `/forget` has to reach all of them.
    if (traces && (isRemote(options.store) || cluster.isWorker))
      cleanup.add(await shareRuns(options, { host, traces, log, records, deleteTapes }))
    const durableRuns = new RunService({
      limits: options,
      host,
      log,
      hasStore: () => shared.exists(),
      isShared: isRemote(options.store),
      openRecords: audit ? async () => audit.guard(await shared.open()) : () => shared.open(),
      sealing,
      onStored: sweeper && ((...run) => sweeper.noteStored(...run)),
      describeFailure: makeDescribeFailure(options.debug, redact),
      onFailure: (error, id) => logRunFailure(error, id, log),
    })
    cleanup.add(() => durableRuns.close())
    cleanup.add(() => host.close(options.drainTimeout * 1000))
    const agents = new AgentFolder(host, agentDir, log)
    await agents.scan()
    if (audit) cleanup.add(audit.followAgents())
    return new AssembledProject(
      { host, agents, traces, redact, log, durableRuns, sealing, deleteTapes, audit, openRecords: () => shared.open() },
      options,
      cleanup,
    )
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

/** Makes the limiter when it is first asked for. */
function limiterOpener(records: LazyStore, projectDir: string, log: Log): () => Promise<Limiter> {
  let limiter: Limiter | undefined
  return async () => {
    if (limiter) return limiter
    const { StoredLimiter } = await import('../limits/limiter.ts')
    const counted = { records: await records.open(), projectDir, log }
    // One alone knows what this server holds.
    limiter ??= new StoredLimiter(counted)
    return limiter
  }
}

async function openAudit(...options: ConstructorParameters<typeof Audit>): Promise<Audit> {
  const { Audit } = await import('../audit/audit.ts')
  return new Audit(...options)
}

/** Logs the failure of a run in the background, or of the queue. */
function logRunFailure(error: unknown, id: string | undefined, log: Log & { readonly level?: string }): void {
  log[levelOfFailure(error)](`${id === undefined ? 'The queue' : `Run '${id}'`}: ${describeFault(error, log)}`)
}

async function openTapes(...args: Parameters<typeof Tapes.open>): Promise<Tapes> {
  const { Tapes } = await import('./tapes.ts')
  return Tapes.open(...args)
}

/** Records all runs of a host from now on. */
export async function openTraces(
  { projectDir, debugMaxMb, serverName: server }: ProjectOptions,
  host: AgentHost,
  { redact, secrets, log }: { redact: Redact; secrets?: ProjectParts['secrets']; log: Log },
): Promise<Traces> {
  const { Traces } = await import('../trace/traces.ts')
  const dir = join(projectDir, TRACE_FOLDER)
  const traces = await Traces.open({ dir, maxBytes: debugMaxMb * 1024 * 1024, redact, secrets, log, server })
  traces.follow(host)
  return traces
}

/** @returns a function that ends it */
async function shareRuns(
  { serverName: name, projectDir }: ProjectOptions,
  parts: Omit<SharedRunsOptions, 'projectDir' | 'name'>,
): Promise<() => Promise<void>> {
  const { SharedRuns } = await import('../replicas/shared-runs.ts')
  const shared = new SharedRuns({ ...parts, projectDir, name })
  parts.traces.addRemote(shared)
  return () => shared.close()
}
