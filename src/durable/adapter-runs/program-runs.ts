import { badRequest, HostError, hasCode } from '../../errors.ts'
import { requireGiven, TEXT } from '../../given.ts'
import type { AgentHost, ResumeOptions, RunOptions } from '../../host/host.ts'
import { Listeners } from '../../host/listeners.ts'
import { untilEnd } from '../../host/until-end.ts'
import { toResumableRun, type WaitingRun } from '../../host/waiting-run.ts'
import type { Log } from '../../protocols/log.ts'
import type { Message } from '../../protocols/message.ts'
import { LOCAL_OPTIONS, RUN_OPTIONS, STORED_MESSAGES } from '../../run/checks/given-turn.ts'
import type { RunResult } from '../../run/turn.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import { approvalId } from '../approvals/approvals.ts'
import type { DurableRuns } from '../durable-runs.ts'
import type { RunService } from '../run-service.ts'
import { PROGRAM } from '../runs/run-facts.ts'
import { RUN_PREFIX, uuidOf } from '../runs/run-ids.ts'
import { makeAdapterRuns } from './tenant-runs.ts'

const BAD_ID =
  'options.runId must be a UUID of version 7, in lower case: runs that wait are stored under their ids, in the order of time.'

export interface ProgramRunsOptions {
  readonly host: AgentHost
  readonly log: Log
  readonly service: RunService
}

/** Runs of the program that has opened the project. Those that wait are durable runs, under the ids of their results. */
export class ProgramRuns {
  readonly #options: ProgramRunsOptions
  readonly #onWaiting: Listeners<WaitingRun>

  constructor(options: ProgramRunsOptions) {
    this.#options = options
    this.#onWaiting = new Listeners('waiting runs', options.log)
  }

  /** Calls `listener` with every run of this process that begins to wait, once it is stored. Returns a function that ends it. */
  onWaiting(listener: (waiting: WaitingRun) => void): () => void {
    return this.#onWaiting.add(listener)
  }

  /** Runs one turn to its end. A run that waits is stored before this returns. */
  async run(agent: string, input: string | readonly Message[], options: RunOptions = {}): Promise<RunResult> {
    requireGiven(RUN_OPTIONS, options, 'options')
    const { host, service } = this.#options
    const runId = options.runId ?? uuidOf(service.ids.next())
    if (!service.ids.isId(RUN_PREFIX + runId)) throw badRequest(BAD_ID, { field: 'runId' })
    const messages = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input
    requireGiven(STORED_MESSAGES, messages, 'messages')
    const result = await host.run(agent, messages, { ...options, runId })
    if (result.status !== 'waiting') return result
    const { options: asked } = toResumableRun(agent, result, options)
    await this.#of(options.tenant ?? '').keep({ ...asked, id: RUN_PREFIX + runId, agent, messages, result })
    this.#tell(agent, result)
    return result
  }

  /**
   * Continues a run in this process. Of several callers one does. What has no answer keeps waiting, as a new run. A run that is refused,
   * or fails before a call of it has begun, waits as before.
   *
   * @throws HostError `RUN_NOT_WAITING` for a run that is not stored, or was resumed before; `REQUEST_INVALID` for an answer that
   *   does not fit; and as `host.run`
   */
  async resume(runId: string, answers: readonly PendingAnswer[], options: ResumeOptions = {}): Promise<RunResult> {
    requireGiven(TEXT, runId, 'runId')
    requireGiven(LOCAL_OPTIONS, options, 'options')
    const { signal, ...others } = options
    const tenant = (await (await this.#options.service.open()).findTenant(RUN_PREFIX + runId)) ?? ''
    const handle = await this.#of(tenant)
      .resume(RUN_PREFIX + runId, answers, PROGRAM, others)
      .catch((error: unknown) => {
        throw isTaken(error) ? notWaiting(runId) : error
      })
    const result = await untilEnd(handle, signal)
    if (result.status === 'waiting') this.#tell(handle.agent, result)
    return result
  }

  /** Returns the runs of all tenants that wait, in no certain order. */
  async list(): Promise<WaitingRun[]> {
    const all = await (await this.#options.service.open()).allTenants()
    return (await Promise.all(all.map(listWaiting))).flat()
  }

  #of(tenant: string) {
    const { service, host } = this.#options
    return makeAdapterRuns(service, host, PROGRAM).of(tenant)
  }

  #tell(agent: string, { runId, pending }: RunResult): void {
    this.#onWaiting.tell({ runId, agent, pending })
  }
}

async function listWaiting(runs: DurableRuns): Promise<WaitingRun[]> {
  const ids = await runs.approvals.listWaiting()
  const read = ids.map((id) => runs.unreadable.read(() => readWaiting(runs, id)))
  return (await Promise.all(read)).flatMap((waiting) => waiting ?? [])
}

async function readWaiting(runs: DurableRuns, id: string): Promise<WaitingRun | undefined> {
  const { store, conversations, approvals } = runs
  const [state, turn, asked] = await Promise.all([store.state(id), conversations.turn(id), approvals.ofRun(id)])
  if (!state || !turn) return undefined
  const closed = new Set(asked.flatMap((approval) => (approval.status === 'pending' ? [] : [approval.id])))
  const pending = (turn.pending ?? []).filter((_, index) => !closed.has(approvalId(id, index)))
  return { runId: uuidOf(id), agent: state.facts.agent, pending }
}

function isTaken(error: unknown): boolean {
  return hasCode(error, 'APPROVAL_NOT_FOUND') || hasCode(error, 'APPROVAL_DECIDED')
}

function notWaiting(runId: string): HostError {
  return new HostError('RUN_NOT_WAITING', `No run '${runId}' waits here, or it was resumed before.`)
}
