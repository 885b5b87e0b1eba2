import type { Message } from './message.ts'
import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/**
 * The conversation that a run is part of. It already holds the message that is being handled: do not append it. Hand the
 * run on: a provider that asks a model, or looks up whose conversation it is, cannot do without.
 *
 * @example
 * ```ts
 * export const lastTen = defineModule({
 *   name: 'LastTen',
 *   provides: [ConversationHistory],
 *   uses: { history: ConversationHistory },
 *   create: ({ history }) => ({
 *     getHistory: async (run) => (await history.getHistory(run)).slice(-10),
 *     addMessage: (message, run) => history.addMessage(message, run),
 *     clearHistory: (run) => history.clearHistory(run),
 *   }),
 * })
 * ```
 */
export interface ConversationHistory {
  /** Oldest first. The array is the caller's own. */
  getHistory(run?: Run): Message[] | Promise<Message[]>
  addMessage(message: Message, run?: Run): void | Promise<void>
  clearHistory(run?: Run): void | Promise<void>
}
export const ConversationHistory = defineProtocol<ConversationHistory>('ConversationHistory', [
  'getHistory',
  'addMessage',
  'clearHistory',
])
