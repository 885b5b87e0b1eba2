/** The part of a message that tells which calls it makes or answers. */
export interface PairedMessage<Call> {
  readonly role: string
  readonly toolCalls?: readonly Call[]
  readonly toolCallId?: string
}

/** Call of a conversation, and the place of the message that answers it. */
export interface PairedCall<Call> {
  readonly call: Call
  /** Undefined for a call that is open. */
  answeredAt?: number
}

/**
 * Returns the calls of a conversation, oldest first. Ids may repeat: a result answers the latest open call before it, of one step the first.
 *
 * @example
 * ```ts
 * export function openCalls(messages: readonly Message[]): string[] {
 *   return pairCalls(messages).flatMap(({ call, answeredAt }) => (answeredAt === undefined ? [call.name] : []))
 * }
 * ```
 */
export function pairCalls<Call extends { readonly id: string }>(
  messages: readonly PairedMessage<Call>[],
): PairedCall<Call>[] {
  const all: PairedCall<Call>[] = []
  const open = new Map<string, PairedCall<Call>[]>()
  for (const [index, message] of messages.entries()) {
    const step = callsOf(message).map((call): PairedCall<Call> => ({ call }))
    for (const paired of step) all.push(paired)
    for (const paired of step.reverse()) {
      const same = open.get(paired.call.id)
      if (same) same.push(paired)
      else open.set(paired.call.id, [paired])
    }
    const answered = message.role === 'tool' ? open.get(message.toolCallId ?? '')?.pop() : undefined
    if (answered) answered.answeredAt = index
  }
  return all
}

/** Tool calls of a conversation that no message answers, oldest first. */
export function openCallsOf<Call extends { readonly id: string }>(messages: readonly PairedMessage<Call>[]): Call[] {
  return pairCalls(messages).flatMap(({ call, answeredAt }) => (answeredAt === undefined ? [call] : []))
}

export function callsOf<Call>({ role, toolCalls }: PairedMessage<Call>): readonly Call[] {
  return (role === 'assistant' && toolCalls) || NONE
}

const NONE: readonly never[] = Object.freeze([])
