import type { Message } from '../../protocols/message.ts'

/** Agents to talk to, in this process or behind an address. */
export interface Backend {
  /** Ids and descriptions; entry points are agents of their own. */
  agents(): Promise<readonly ChatAgent[]>
  /**
   * Asks for the next answer of a conversation.
   *
   * @throws HostError, also when `signal` aborts
   */
  ask(agent: string, messages: readonly Message[], listener: AnswerListener): Promise<Answer>
  close(): Promise<void>
}

export interface ChatAgent {
  readonly id: string
  readonly description: string
}

export interface AnswerListener {
  readonly signal: AbortSignal
  onText(text: string): void
  /** A call of a tool has begun. */
  onCall(name: string, args: unknown): void
  onCallEnd(call: ToolOutcome): void
}

export interface ToolOutcome {
  readonly name: string
  readonly arguments: unknown
  readonly result?: string
  readonly error?: string
}

export interface Answer {
  readonly text: string
  readonly runId?: string
  readonly toolCalls: readonly ToolOutcome[]
  /** The conversation with the answer at its end. */
  readonly messages: readonly Message[]
  /** Tools that the run waits for: it needs an approval or an answer before it can go on. */
  readonly waitsFor: readonly string[]
}
