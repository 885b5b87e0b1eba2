import { randomUUID } from 'node:crypto'
import type { Message } from '../../../protocols/message.ts'
import { bytesOfMessages } from '../../bodies/bytes-of-messages.ts'
import { Recent } from '../../recent.ts'
import type { CallMemory, KeptConversation, WaitingCall } from './call-memory.ts'

const MAX_BYTES = 256 * 1024 * 1024
const CONVERSATIONS = { maxItems: 10_000, maxBytes: MAX_BYTES }
const WAITING = { maxItems: 1000, maxBytes: MAX_BYTES }

/** Memory of this process: drops the least recently used entries first. */
export class LocalCallMemory implements CallMemory {
  readonly #conversations = new Recent<KeptConversation>(CONVERSATIONS, ({ messages }) => bytesOfMessages(messages))
  readonly #waiting = new Recent<WaitingCall>(WAITING, ({ trail }) => bytesOfMessages(trail))

  async readConversation(id: string, agentId: string): Promise<readonly Message[] | undefined> {
    const found = this.#conversations.get(id)
    return found?.agentId === agentId ? found.messages : undefined
  }

  async listConversations(agentIds: ReadonlySet<string>) {
    const all = [...this.#conversations].map(([id, conversation]) => ({ id, ...conversation }))
    return all.filter(({ agentId }) => agentIds.has(agentId))
  }

  async writeConversation(id: string = randomUUID(), conversation: KeptConversation): Promise<string> {
    this.#conversations.set(id, conversation)
    return id
  }

  async keepWaiting(call: WaitingCall): Promise<string> {
    const id = randomUUID()
    this.#waiting.set(id, call)
    return id
  }

  async takeWaiting(id: string, name: string): Promise<WaitingCall | undefined> {
    const call = this.#waiting.get(id)
    if (call?.name !== name) return undefined
    this.#waiting.delete(id)
    return call
  }

  /** No other server shares it. */
  async awaitAnswer(): Promise<() => void> {
    return () => {}
  }

  async passAnswer(): Promise<void> {}

  async close(): Promise<void> {}
}
