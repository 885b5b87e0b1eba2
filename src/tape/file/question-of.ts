import { isUser } from '../../protocols/message.ts'
import type { Turn } from '../../run/turn.ts'
import type { Tape } from './read-tape.ts'
import { decodeValue } from './tape-values.ts'

/** Returns the last message of the user on a tape; empty where there is none. */
export function questionOf({ runs }: Tape): string {
  const last = runs.at(-1)
  const { messages } = last ? (decodeValue(last.turn.turn, last.findBytes) as Turn) : { messages: [] }
  return messages.findLast(isUser)?.content ?? ''
}
