import { randomUUID } from 'node:crypto'
import type { Message } from '../../../protocols/message.ts'
import { bytesOfMessages } from '../../bytes-of-messages.ts'
import { Recent } from '../../recent.ts'

interface Conversation {
  readonly agentId: string
  readonly messages: readonly Message[]
}

const LIMITS = { maxItems: 10_000, maxBytes: 256 * 1024 * 1024 }

/** The conversations that calls may continue: in memory, by ids that nobody can guess. */
export class Conversations {
  readonly #conversations = new Recent<Conversation>(LIMITS, ({ messages }) => bytesOfMessages(messages))

  /** Returns the messages so far; undefined when there is no such conversation with that agent. */
  read(id: string, agentId: string): readonly Message[] | undefined {
    const found = this.#conversations.get(id)
    return found?.agentId === agentId ? found.messages : undefined
  }

  /** Yields all of them, the one that was not used for the longest time first. */
  *entries(): Generator<{ readonly id: string; readonly agentId: string; readonly messages: readonly Message[] }> {
    for (const [id, conversation] of this.#conversations) yield { id, ...conversation }
  }

  /**
   * Keeps what was said.
   *
   * @param id of the conversation that goes on; a new one when left out
   * @returns its id
   */
  write(id: string | undefined, agentId: string, messages: readonly Message[]): string {
    const written = id ?? randomUUID()
    this.#conversations.set(written, { agentId, messages })
    return written
  }
}
