import { randomUUID } from 'node:crypto'
import type { Run, Usage } from '../protocols/run.ts'

/** What a request asks of a run. */
export interface RunOptions {
  /** Default: a new UUID. */
  readonly id?: string | undefined
  readonly entryPoint: string
  readonly instructions?: string | undefined
  readonly user?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly input?: Readonly<Record<string, unknown>> | undefined
  readonly onProgress?: ((message: string) => void) | undefined
}

const NOTHING = Object.freeze({})

/**
 * A run as the host makes it; modules see its {@link Run} side. There may be several views of one run: what changes is
 * kept at the root, and what most runs never ask for (the signal) is made when it is asked for.
 */
export class AgentRun implements Run {
  readonly id: string
  readonly agentId: string
  readonly entryPoint: string
  readonly instructions: string | undefined
  readonly user: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  readonly input: Readonly<Record<string, unknown>> | undefined
  /** The call within which this view of the run was handed out; undefined outside any observed call. */
  readonly callId: string | undefined
  private readonly root: AgentRun
  private readonly onProgress: ((message: string) => void) | undefined
  private tokens: Usage | undefined = undefined
  private incomplete: string | undefined = undefined
  private aborted = false
  private reason: unknown = undefined
  private controller: AbortController | undefined = undefined

  /** @param root of which this is another view, from within a call */
  constructor(
    agentId: string,
    { id = randomUUID(), metadata = NOTHING, ...facts }: RunOptions,
    root?: AgentRun,
    callId?: string,
  ) {
    this.id = id
    this.agentId = agentId
    this.entryPoint = facts.entryPoint
    this.instructions = facts.instructions
    this.user = facts.user
    this.metadata = metadata
    this.input = facts.input
    this.onProgress = facts.onProgress
    this.root = root ?? this
    this.callId = callId
  }

  get signal(): AbortSignal {
    const { root } = this
    if (!root.controller) {
      root.controller = new AbortController()
      if (root.aborted) root.controller.abort(root.reason)
    }
    return root.controller.signal
  }

  get usage(): Readonly<Usage> {
    return this.root.tokens ?? NO_USAGE
  }

  addUsage(added: Partial<Usage>): void {
    this.root.tokens ??= { ...NO_USAGE }
    for (const name of Object.keys(NO_USAGE) as (keyof Usage)[]) {
      const count = added[name] ?? 0
      if (Number.isFinite(count) && count > 0) this.root.tokens[name] += Math.round(count)
    }
  }

  /** Why the answer is not complete; undefined when it is. */
  get incompleteReason(): string | undefined {
    return this.root.incomplete
  }

  markIncomplete(reason: string): void {
    this.root.incomplete ??= reason
  }

  reportProgress(message: string): void {
    if (!this.root.aborted) this.onProgress?.(message)
  }

  /** Ends the run early. Only the first reason counts. */
  abort(reason: unknown): void {
    const { root } = this
    if (root.aborted) return
    root.aborted = true
    root.reason = reason
    root.controller?.abort(reason)
  }

  /** Throws the reason once the run was aborted. */
  throwIfAborted(): void {
    if (this.root.aborted) throw this.root.reason
  }

  /** The same run, seen from within a call: what is done with it there is a child of that call. */
  within(callId: string): AgentRun {
    const { id, agentId, entryPoint, instructions, user, metadata, input, onProgress, root } = this
    const facts = { id, entryPoint, instructions, user, metadata, input, onProgress }
    return new AgentRun(agentId, facts, root, callId)
  }

  toJSON(): { run: string } {
    return { run: this.id }
  }
}

const NO_USAGE: Readonly<Usage> = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
})
