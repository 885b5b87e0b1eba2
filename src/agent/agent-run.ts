import { randomUUID } from 'node:crypto'
import type { Run, Usage } from '../protocols/run.ts'

/** What a request asks of a run. */
export interface RunOptions {
  readonly entryPoint: string
  readonly instructions?: string | undefined
  readonly user?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** Made once a run and shared by every view of it. Its parts are made when they are asked for: most runs never are. */
class RunState {
  readonly usage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }
  aborted = false
  reason: unknown = undefined
  controller: AbortController | undefined = undefined
}

const NOTHING = Object.freeze({})

/** A run as the host makes it. Modules see its {@link Run} side. */
export class AgentRun implements Run {
  readonly id: string = randomUUID()
  readonly agentId: string
  readonly entryPoint: string
  readonly instructions: string | undefined
  readonly user: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  /** The call within which this view of the run was handed out; undefined outside any observed call. */
  readonly callId: string | undefined = undefined
  private readonly state = new RunState()

  constructor(agentId: string, { entryPoint, instructions, user, metadata = NOTHING }: RunOptions) {
    this.agentId = agentId
    this.entryPoint = entryPoint
    this.instructions = instructions
    this.user = user
    this.metadata = metadata
  }

  get signal(): AbortSignal {
    const { state } = this
    if (!state.controller) {
      state.controller = new AbortController()
      if (state.aborted) state.controller.abort(state.reason)
    }
    return state.controller.signal
  }

  get usage(): Readonly<Usage> {
    return this.state.usage
  }

  addUsage(added: Partial<Usage>): void {
    const { usage } = this.state
    for (const name of Object.keys(usage) as (keyof Usage)[]) {
      const count = added[name] ?? 0
      if (Number.isFinite(count) && count > 0) usage[name] += Math.round(count)
    }
  }

  /** Ends the run early. Only the first reason counts. */
  abort(reason: unknown): void {
    const { state } = this
    if (state.aborted) return
    state.aborted = true
    state.reason = reason
    state.controller?.abort(reason)
  }

  /** Throws the reason once the run was aborted. */
  throwIfAborted(): void {
    if (this.state.aborted) throw this.state.reason
  }

  /** The same run, seen from within a call: what is done with it there is a child of that call. */
  within(callId: string): AgentRun {
    return Object.create(this, { callId: { value: callId, enumerable: true } })
  }

  toJSON(): { run: string } {
    return { run: this.id }
  }
}
