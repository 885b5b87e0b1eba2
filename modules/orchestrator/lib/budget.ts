import { type Message, type Response, type Run, Type } from 'agent-host'

/** Limits for the cost of an answer, as fields of a config. */
export const costLimits = {
  max_tokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'Input and output tokens after which no new step starts. Estimated if the model does not report them.',
    }),
  ),
  max_seconds: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 86_400,
      description: 'Maximum seconds of the answer; the model or tool that is running then is aborted.',
    }),
  ),
}

/** The same, for orchestrators with steps. */
export const stepLimits = {
  max_steps: Type.Integer({
    minimum: 1,
    default: 10,
    variant: true,
    description: 'Maximum model calls for one answer.',
  }),
  max_repeats: Type.Integer({
    minimum: 1,
    default: 3,
    variant: true,
    description: 'Maximum calls of a tool with the same arguments and the same result.',
  }),
  ...costLimits,
}

export interface Limits {
  readonly max_tokens?: number | undefined
  readonly max_seconds?: number | undefined
}

/** Ends the work under a budget. `message` is for the user, `reason` for `run.markIncomplete`. */
export class BudgetSpent extends Error {
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * Does work that must not cost more than its limits. When they are reached the user reads why, and the run ends well but
 * incomplete.
 */
export async function withinBudget(
  limits: Limits,
  run: Run,
  response: Response,
  work: (budget: Budget) => Promise<void>,
): Promise<void> {
  const budget = new Budget(limits, run)
  try {
    await work(budget)
  } catch (error) {
    run.throwIfStopped()
    const spent = budget.endOf(error)
    if (!spent) throw error
    run.markIncomplete(spent.reason)
    // A client that asked for data reads the reason, not a sentence.
    if (!run.requestOptions.responseSchema) await sayAfter(response, spent.message)
  } finally {
    budget.close()
  }
}

/** Separate sentence after the text so far. */
export async function sayAfter(response: Response, sentence: string): Promise<void> {
  const { text } = await response.getResponse()
  await response.respondText(text === '' || /\s$/.test(text) ? sentence : `\n\n${sentence}`)
}

function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** Remaining budget of one answer. */
export class Budget {
  /** The run for the work itself: tokens that are reported to it are counted, and its signal ends with the time. */
  readonly run: Run
  readonly #limits: Limits
  readonly #deadline: AbortController | undefined
  readonly #timer: NodeJS.Timeout | undefined
  #tokens = 0

  constructor(limits: Limits, run: Run) {
    this.#limits = limits
    const { max_seconds } = limits
    if (max_seconds !== undefined) {
      this.#deadline = new AbortController()
      this.#timer = setTimeout(() => this.#deadline?.abort(this.#late()), max_seconds * 1000)
    }
    this.run = this.#watch(run)
  }

  /** @throws BudgetSpent when nothing further may be begun */
  check(): void {
    this.run.throwIfStopped()
    const { max_tokens } = this.#limits
    if (max_tokens === undefined || this.#tokens < max_tokens) return
    throw new BudgetSpent('max_tokens', `I stopped, because this answer has already taken ${this.#tokens} tokens.`)
  }

  /** Estimate for models that report no usage: four bytes per token. */
  estimate(messages: readonly Message[], answer: string): void {
    if (this.#limits.max_tokens === undefined) return
    for (const { content } of messages) this.#tokens += estimateTokens(content)
    this.#tokens += estimateTokens(answer)
  }

  /** The end of the budget that an error stands for, if it does. */
  endOf(error: unknown): BudgetSpent | undefined {
    if (error instanceof BudgetSpent) return error
    // Whatever a module makes of the abort, it is the time that is over.
    return this.#deadline?.signal.aborted ? this.#late() : undefined
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #late(): BudgetSpent {
    return new BudgetSpent(
      'max_seconds',
      `I stopped after ${this.#limits.max_seconds} seconds without coming to an end.`,
    )
  }

  #watch(run: Run): Run {
    const { max_tokens, max_seconds } = this.#limits
    if (max_tokens === undefined && max_seconds === undefined) return run
    const addUsage: Run['addUsage'] = (usage) => {
      this.#tokens += (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
      run.addUsage(usage)
    }
    const signal = this.#deadline && AbortSignal.any([run.signal, this.#deadline.signal])
    return run.with({ addUsage, ...(signal ? { signal } : {}) })
  }
}
