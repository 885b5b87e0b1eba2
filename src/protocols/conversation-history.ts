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
  /**
   * Returns the messages, oldest first. The array is the caller's own.
   *
   * @remarks An orchestrator calls it once, when its turn begins. Filters of a conversation call that of the module below them.
   * @throws unknown fails the run, unless the caller catches it
   */
  getHistory(run?: Run): Message[] | Promise<Message[]>
  /**
   * Appends a message for the rest of the run.
   *
   * @remarks Modules call it that put something before the next handler, such as the stage of a pipeline. The host never does: what a run says and does is in its
   * trail.
   */
  addMessage(message: Message, run?: Run): void | Promise<void>
  /**
   * Removes all messages for the rest of the run.
   *
   * @remarks Modules call it that begin again. Nothing is removed from the store.
   */
  clearHistory(run?: Run): void | Promise<void>
}
export const ConversationHistory = defineProtocol<ConversationHistory>('ConversationHistory', [
  'getHistory',
  'addMessage',
  'clearHistory',
])
