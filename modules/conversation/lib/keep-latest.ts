import type { Message } from 'agent-host'

export interface Room {
  /** Maximum number of messages, beside those of the system. */
  readonly messages: number
  /** Maximum number of tokens, with those of the system. */
  readonly tokens: number
}

/**
 * The latest messages that there is room for. Messages of the system, the question that is being handled and the calls and
 * results since it always stay; a result goes with the call that asked for it.
 */
export function keepLatest(messages: readonly Message[], room: Room): Message[] {
  const spoken = messages.filter(({ role }) => role !== 'system')
  let first = firstThatFits(messages, spoken, room)
  // The answer of a tool means nothing without the call that asked for it.
  while (spoken[first]?.role === 'tool') first++
  const question = spoken.findLastIndex(({ role }) => role === 'user')
  const kept = new Set(spoken.slice(question === -1 ? first : Math.min(first, question)))
  return messages.filter((message) => message.role === 'system' || kept.has(message))
}

/** Four bytes a token: about right for prose and code. Numbers and hashes have up to twice as many tokens. */
export function countTokens({ content, ...message }: Message): number {
  const calls = message.role === 'assistant' && message.toolCalls ? JSON.stringify(message.toolCalls) : ''
  return Math.ceil((Buffer.byteLength(content) + Buffer.byteLength(calls)) / 4)
}

function firstThatFits(messages: readonly Message[], spoken: readonly Message[], room: Room): number {
  const ofSystem = messages
    .filter(({ role }) => role === 'system')
    .reduce((sum, message) => sum + countTokens(message), 0)
  let tokens = room.tokens - ofSystem
  let first = spoken.length
  while (first > 0 && spoken.length - first < room.messages) {
    tokens -= countTokens(spoken[first - 1] as Message)
    if (tokens < 0) break
    first--
  }
  return first
}
