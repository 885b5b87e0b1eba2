import { randomUUID } from 'node:crypto'
import type { Message } from '../../../../protocols/message.ts'
import { RecentlyUsed } from '../../../../recently-used.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'
import {
  type CallMemory,
  type ConversationTitle,
  isFor,
  type KeptConversation,
  type TitleRange,
  titleOf,
} from './call-memory.ts'

const CONVERSATIONS = { maxItems: 10_000, maxBytes: 256 * 1024 * 1024 }

/** Memory of this process: drops the least recently used entries of all tenants first. */
export class LocalCallMemory implements CallMemory {
  /** Beginning of the keys. */
  readonly #prefix: string
  readonly #entries: Entries

  constructor(tenant = '', entries = makeEntries()) {
    this.#prefix = `${encodeURIComponent(tenant)}/`
    this.#entries = entries
  }

  of(tenant: string): CallMemory {
    return new LocalCallMemory(tenant, this.#entries)
  }

  async readConversation(id: string, agentId: string, user?: string): Promise<readonly Message[] | undefined> {
    const found = this.#entries.get(this.#prefix + id)
    return found && isFor({ agentId, user }, found) ? found.messages : undefined
  }

  async listTitles(agentId: string, { after = '', limit, user }: TitleRange): Promise<ConversationTitle[]> {
    const found: ConversationTitle[] = []
    for (const [key, conversation] of this.#entries) {
      const id = key.slice(this.#prefix.length)
      const isMeant = key.startsWith(this.#prefix) && isFor({ agentId, user }, conversation) && id > after
      if (isMeant) found.push({ id, title: titleOf(conversation) })
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
  }

  async writeConversation(id: string | undefined, conversation: KeptConversation): Promise<string | undefined> {
    const earlier = id === undefined ? conversation : this.#entries.get(this.#prefix + id)
    if (!earlier) return undefined
    if (!isFor(conversation, earlier)) return this.writeConversation(undefined, conversation)
    const kept = id ?? randomUUID()
    this.#entries.set(this.#prefix + kept, { ...conversation, user: earlier.user })
    return kept
  }

  forgetUser(user: string): number {
    const theirs = [...this.#entries].filter(([key, entry]) => key.startsWith(this.#prefix) && entry.user === user)
    for (const [key] of theirs) this.#entries.delete(key)
    return theirs.length
  }

  /** No other server shares it. */
  async awaitAnswer(): Promise<() => void> {
    return () => {}
  }

  async passAnswer(): Promise<void> {}

  async close(): Promise<void> {}
}

type Entries = RecentlyUsed<KeptConversation>

function makeEntries(): Entries {
  return new RecentlyUsed({ ...CONVERSATIONS, bytesOf: ({ messages }) => bytesOfMessages(messages) })
}
