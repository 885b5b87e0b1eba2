import type { Message } from '../../protocols/message.ts'
import type { AttachmentJson } from '../../run/attachment-json.ts'
import type { ApprovalDecision } from '../../wire/approval.ts'
import type { NamedAsker } from '../../wire/name-asker.ts'

/** Agents to talk to, in this process or behind an address. */
export interface Backend {
  /** Ids and descriptions; entry points are agents of their own. Undefined if a server does not list them. */
  agents(): Promise<readonly ChatAgent[] | undefined>
  /** Begins a conversation with an agent. */
  open(agent: string): Conversation
  /** Says where to decide about a run that was left waiting. */
  howToDecide(agent: string): string
  close(): Promise<void>
}

export interface ChatAgent {
  readonly id: string
  readonly description: string
}

/** Conversation with one agent. A turn that fails, is stopped or left undecided is no part of it. */
export interface Conversation {
  /** Texts of both sides so far, oldest first. */
  readonly said: readonly Pick<Message, 'role' | 'content'>[]
  /**
   * Asks for the next answer.
   *
   * @throws HostError, also when `signal` aborts
   */
  ask(text: string, listener: ReplyListener): Promise<Reply>
  /**
   * Goes on with the last answer, which waits for a person.
   *
   * @param decisions one for each call that it waits for, in their order
   * @throws HostError for a decision that does not fit; everything else then stays as it was
   */
  decide(decisions: readonly ApprovalDecision[], listener: ReplyListener): Promise<Reply>
}

export interface ReplyListener {
  readonly signal: AbortSignal
  /** Piece of the answer as a person reads it; of an attachment its kind. */
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

/** Call that waits for a person. */
export interface WaitingCall {
  readonly kind: 'approval' | 'question'
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** The question, or the reason for asking. */
  readonly message?: string | undefined
  readonly schema?: Readonly<Record<string, unknown>> | undefined
  /** Called agent that makes it. */
  readonly asker?: NamedAsker | undefined
}

export interface Reply {
  readonly text: string
  readonly runId?: string
  readonly toolCalls: readonly ToolOutcome[]
  /** Pictures and files beside the text, with their bytes in base64 or their address. */
  readonly attachments: readonly AttachmentJson[]
  /** Calls that it waits for; empty for a whole answer. */
  readonly waitsFor: readonly WaitingCall[]
}
