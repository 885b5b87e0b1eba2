import type { Message } from './message.ts'
import { defineProtocol } from './protocol.ts'

/** The conversation that a run is part of. It already holds the message that is being handled: nobody appends it. */
export interface ConversationHistory {
  /** Oldest first. The array is the caller's own. */
  getHistory(): Message[] | Promise<Message[]>
  addMessage(message: Message): void | Promise<void>
  clearHistory(): void | Promise<void>
}
export const ConversationHistory = defineProtocol<ConversationHistory>('ConversationHistory', [
  'getHistory',
  'addMessage',
  'clearHistory',
])
