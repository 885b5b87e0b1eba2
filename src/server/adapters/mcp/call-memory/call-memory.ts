import type { Message } from '../../../../protocols/message.ts'

/** Conversation that calls may continue. */
export interface KeptConversation {
  readonly agentId: string
  readonly messages: readonly Message[]
  /** User whose data it is; undefined where the sender names none. */
  readonly user?: string | undefined
}

/** Conversation in a list. */
export interface ConversationTitle {
  readonly id: string
  /** Beginning of its first message. */
  readonly title: string
}

/** Part of the conversations with an agent, in the order of their ids. */
export interface TitleRange {
  /** Id of the last one before. */
  readonly after?: string | undefined
  readonly limit: number
  /** User whose conversations alone are listed; undefined for those of all. */
  readonly user?: string | undefined
}

/** Question to a client, which its session alone answers. */
export interface OpenQuestion {
  readonly id: string
  readonly session: string
}

const MAX_TITLE = 60

export function titleOf({ messages }: KeptConversation): string {
  return messages[0]?.content.slice(0, MAX_TITLE) ?? ''
}

/** Agent and user of a request for conversations. Without a user those of all exist. */
export type Seeker = Pick<KeptConversation, 'agentId' | 'user'>

/** Tells whether a conversation exists for who asks. */
export function isFor({ agentId, user }: Seeker, kept: Seeker): boolean {
  return kept.agentId === agentId && (user === undefined || kept.user === user)
}

/** Conversations that later calls go on with, and open questions to clients. Their ids cannot be guessed. */
export interface CallMemory {
  /** Returns the part of a tenant: nothing in it exists for another, and it needs no closing. */
  of(tenant: string): CallMemory
  /**
   * Returns the messages so far; undefined when there is no such conversation with that agent.
   *
   * @param user whose conversations alone exist; undefined for those of all
   */
  readConversation(id: string, agentId: string, user?: string): Promise<readonly Message[] | undefined>
  /** Returns conversations with an agent. Reads none of them. */
  listTitles(agentId: string, range: TitleRange): Promise<readonly ConversationTitle[]>
  /**
   * Keeps what was said. A conversation that goes on stays its user's, and one that does not exist for the sender stays as it is.
   *
   * @param id of the conversation that goes on; a new one when left out
   * @returns its id; undefined for one that was forgotten meanwhile, which stays so
   */
  writeConversation(id: string | undefined, conversation: KeptConversation): Promise<string | undefined>
  /** Removes the conversations of a user that are in no store, and returns their number. */
  forgetUser(user: string): number
  /**
   * Waits for the answer of a client that reaches another server than the one that asks.
   *
   * @param onAnswer takes what the client has sent as the result
   * @returns a function that ends it, once other servers know of the question
   */
  awaitAnswer(question: OpenQuestion, onAnswer: (result: unknown) => void): Promise<() => void>
  /** Hands an answer to the server that asks, if there is one. */
  passAnswer(question: OpenQuestion, result: unknown): Promise<void>
  close(): Promise<void>
}
