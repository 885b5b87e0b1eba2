import type { Message, ToolCall } from '../../protocols/message.ts'

/** Call of a conversation, and the place of the message that answers it. */
export interface PairedCall {
  readonly call: ToolCall
  /** Undefined for a call that is open. */
  answeredAt?: number
}

/** Returns the calls of a conversation, oldest first. Ids may repeat: a result answers the latest open call before it, of one step the first. */
export function pairCalls(messages: readonly Message[]): PairedCall[] {
  const all: PairedCall[] = []
  const open = new Map<string, PairedCall[]>()
  for (const [index, message] of messages.entries()) {
    const step = callsOf(message).map((call): PairedCall => ({ call }))
    for (const paired of step) all.push(paired)
    for (const paired of step.reverse()) {
      const same = open.get(paired.call.id)
      if (same) same.push(paired)
      else open.set(paired.call.id, [paired])
    }
    const answered = message.role === 'tool' ? open.get(message.toolCallId)?.pop() : undefined
    if (answered) answered.answeredAt = index
  }
  return all
}

/** Tool calls of a conversation that no message answers, oldest first. */
export function openCallsOf(messages: readonly Message[]): ToolCall[] {
  return pairCalls(messages).flatMap(({ call, answeredAt }) => (answeredAt === undefined ? [call] : []))
}

export function callsOf(message: Message): readonly ToolCall[] {
  return (message.role === 'assistant' && message.toolCalls) || NONE
}

const NONE: readonly ToolCall[] = Object.freeze([])
