/** Tokens counted by the models that a run used. All numbers are whole and not negative. */
export interface Usage {
  inputTokens: number
  outputTokens: number
  cachedInputTokens: number
  reasoningTokens: number
}

/**
 * One turn of one agent. It is given to every handler, and every protocol method that does work takes it last and
 * hands it on: nothing about a run is ambient.
 */
export interface Run {
  /** Unique in this process and across restarts (a UUID). */
  readonly id: string
  readonly agentId: string
  /** The entry point that was asked for; `__entry__` when none was named. */
  readonly entryPoint: string
  /** Aborted on cancel, when the client leaves, and on shutdown. Hand it to whatever you wait for. */
  readonly signal: AbortSignal
  /** Instructions of this request alone; orchestrators add them to their system prompt. */
  readonly instructions: string | undefined
  /** The end user on whose behalf the request was made, as the client named it. */
  readonly user: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  /** The arguments of the call, when the agent declares an `input` schema and was called by it. */
  readonly input: Readonly<Record<string, unknown>> | undefined
  /** Adds to the token usage that the answer reports. What is left out counts as 0. */
  addUsage(usage: Partial<Usage>): void
  /**
   * Says that the answer ends before it is complete, for a limit of the agent's own: `max_output_tokens`,
   * `content_filter`, `max_steps` or a name of yours. The run still ends well. Only the first reason counts.
   */
  markIncomplete(reason: string): void
  /** Tells whoever waits what the work is at, beside the answer itself: `3 of 12 pages read`. Not everybody can see it. */
  reportProgress(message: string): void
}
