import { deferred, rejectQuietly } from '../async.ts'
import { HostError, hasCode } from '../errors.ts'
import type { AgentRun } from './agent-run.ts'
import type { RunStatus } from './run-event.ts'
import type { RunQuota } from './state/run-quota.ts'
import type { RunEnd, RunHandle, RunResult } from './turn.ts'

/** Observer of the end of a run. */
export interface RunObserver {
  /** The result is settled, by the agent or by an abort. */
  onSettled(handle: RunHandle, describe: () => RunEnd): void
  /** Place of the run among those of a sender with limits. */
  readonly quota?: RunQuota | undefined
  /** The agent's code has ended; after an abort that may be much later than the result. */
  onFinished(): void
}

/** Handle of a started run. Only the first outcome counts. */
export class StartedRun implements RunHandle {
  readonly id: string
  readonly result: Promise<RunResult>
  readonly #outcome = deferred<RunResult>()
  readonly #run: AgentRun
  readonly #observer: RunObserver
  readonly #startedMs = performance.now()
  #isSettled = false

  constructor(run: AgentRun, observer: RunObserver) {
    this.id = run.id
    this.#run = run
    this.#observer = observer
    this.result = this.#outcome.promise
  }

  succeed(result: RunResult): void {
    this.#end(result.status, result.incompleteReason)
    this.#outcome.resolve(result)
  }

  fail(error: unknown): void {
    this.#end(hasCode(error, 'RUN_ABORTED') ? 'cancelled' : 'failed', undefined)
    rejectQuietly(this.#outcome, error)
  }

  /** Tells whether the run is for a user of a tenant. */
  isOf(tenant: string, user: string): boolean {
    return this.#run.user === user && this.#run.tenant === tenant
  }

  abort(reason?: unknown): void {
    const error = new HostError('RUN_ABORTED', `The run of agent '${this.#run.agentId}' was aborted.`, {
      cause: reason,
    })
    this.#run.abort.request(error)
    this.fail(error)
  }

  finish(): void {
    this.#observer.onFinished()
  }

  #end(status: RunStatus, reason: string | undefined): void {
    if (this.#isSettled) return
    this.#isSettled = true
    const durationMs = performance.now() - this.#startedMs
    const { answer, waiting, agentId, tenant, parent, entryPoint } = this.#run
    answer.end(status, reason)
    this.#observer.onSettled(this, () => ({
      runId: this.id,
      agentId,
      tenant,
      parentRunId: parent?.runId,
      entryPoint,
      startedAt: (performance.timeOrigin + this.#startedMs) / 1000,
      durationMs,
      status,
      usage: answer.usage,
      text: answer.sentText,
      attachments: answer.attachments,
      incompleteReason: reason,
      pending: status === 'waiting' ? waiting.pending : [],
      firstTextMs: answer.firstTextAtMs === undefined ? undefined : answer.firstTextAtMs - this.#startedMs,
    }))
  }
}
