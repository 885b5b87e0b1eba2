import type { Attachment } from './message.ts'
import type { ModelOptions } from './model-options.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** Tokens counted by the models that a run used. All numbers are whole and not negative. */
export interface Usage {
  inputTokens: number
  outputTokens: number
  cachedInputTokens: number
  reasoningTokens: number
}

/** Question to the person or program behind a request. */
export interface Question {
  readonly message: string
  /** JSON Schema that the answer must fit. */
  readonly schema: Readonly<Record<string, unknown>>
  /**
   * Page of another site that answers, such as a sign-in, with a `state` in its query. The site sends the person back to `context.callbackUrl` with
   * the same `state`; the answer is the query of that address, as a string.
   */
  readonly url?: string
}

/** Call of another agent: see {@link Run.callAgent}. */
export interface AgentCall {
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly message: string
  /** Arguments, for an agent with an `input` schema. */
  readonly input?: Readonly<Record<string, unknown>>
}

/** Answer of a called agent. */
export interface AgentReply {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** Properties that a derived run replaces; see {@link Run.with}. */
export type RunOverrides = Partial<
  Pick<
    Run,
    | 'signal'
    | 'instructions'
    | 'user'
    | 'metadata'
    | 'input'
    | 'requestOptions'
    | 'toolCallId'
    | 'addUsage'
    | 'markIncomplete'
    | 'reportProgress'
  >
>

/**
 * One turn of one agent. It is given to every handler, and every protocol method that does work takes it last and
 * hands it on: nothing about a run is ambient.
 *
 * @example
 * ```ts
 * export async function fetchOrder(id: string, run: Run): Promise<string> {
 *   run.reportProgress(`order ${id}`)
 *   const reply = await fetch(`https://shop.example/orders/${id}`, { signal: run.signal })
 *   return reply.text()
 * }
 * ```
 */
export interface Run {
  /** Unique in this process and across restarts (a UUID). */
  readonly id: string
  readonly agentId: string
  /** Entry point from the request; `__entry__` when it names none. */
  readonly entryPoint: string
  /** Aborts on cancel, when the client disconnects, and on shutdown. Pass it to everything you wait for. */
  readonly signal: AbortSignal
  /** Instructions of this request alone; orchestrators add them to their system prompt. */
  readonly instructions: string | undefined
  /** End user behind the request, as named by the client. */
  readonly user: string | undefined
  /**
   * Tenant of the key that the request came with; '' for one that belongs to none. The server decides it, never the client. What
   * a module keeps for later runs, it keeps for each tenant apart: `Storage` does so by the run that it is given.
   */
  readonly tenant: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** The arguments of the call, when the agent declares an `input` schema and was called by it. */
  readonly input: Readonly<Record<string, unknown>> | undefined
  /**
   * Options that the client of the request asks of the model: only those that it sent, none when the agent ignores them. They
   * rank below the agent's own: a module that asks a model uses one only where neither the module nor its config says otherwise.
   */
  readonly requestOptions: Readonly<ModelOptions>
  /**
   * Tools that the client runs itself. A `many(ToolProvider)` dependency has a provider that lists them; a call of one ends the
   * run waiting for the client's output.
   */
  readonly clientTools: readonly ToolDefinition[]
  /** Id of the tool call that this view of the run belongs to; set it when you execute a call: `run.with({ toolCallId })`. */
  readonly toolCallId: string | undefined
  /**
   * The same run with some properties replaced: an earlier deadline, a counter in between. What is undefined stays as it was. Modules hand
   * it on like any run.
   */
  with(overrides: RunOverrides): Run
  /**
   * Throws if the run has to stop: it was aborted, or waits for an answer. Call it between the steps of a loop; not between the
   * calls of one step, which are all executed before a run waits. Within a tool it throws only if the run was aborted. It costs
   * less than {@link Run.signal}, which is created when it is first asked for.
   *
   * @throws unknown the reason of the abort, or the error with which a waiting run ends
   */
  throwIfStopped(): void
  /**
   * Calls a check of what a client or a model sent: regular expressions may backtrack for ever. All checks of a run have 200 ms
   * together, those of the host included; one that takes less than 10 ms does not count.
   *
   * @param check safe to repeat: it is called again if other processes used up the time
   * @throws Error that `isTimeLimit` recognizes, or the error of the check
   */
  checkInTime<T>(check: () => T): T
  /**
   * Asks a question from inside a tool. Without an answer the run ends waiting (this never returns); when the answer comes, the
   * tool runs again from its start and this returns the answer. Code before it must have no effects.
   *
   * @param question or, where making it has effects, a function that makes it: called only if there is no answer
   * @throws HostError `REQUEST_INVALID` outside of a tool call, or for a `url` that is no http(s) address
   */
  ask(question: Question | (() => Promise<Question>)): Promise<unknown>
  /**
   * Calls another agent from inside a tool, once in each call of the tool: a child run, with the user, tenant, signal and slot of this one. Its
   * usage counts here, its text is progress. If it waits, this run waits for the same (this never returns); when the answer comes, the tool
   * runs again from its start, the child goes on, and this returns its answer.
   *
   * @throws Error that names the agent and its failure; HostError `REQUEST_INVALID` outside of a tool call
   */
  callAgent(call: AgentCall): Promise<AgentReply>
  /** Adds to the token usage that the answer reports. What is left out counts as 0. */
  addUsage(usage: Partial<Usage>): void
  /**
   * Says that the answer ends before it is complete, for a limit of the agent's own: `max_output_tokens`,
   * `content_filter`, `max_steps` or a name of yours. The run still ends well. Only the first reason counts.
   */
  markIncomplete(reason: string): void
  /** Reports progress beside the answer: `3 of 12 pages read`. Some clients do not show it. It is left out while a guard holds the text back. */
  reportProgress(message: string): void
}
