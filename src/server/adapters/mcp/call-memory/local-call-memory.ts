import { randomUUID } from 'node:crypto'
import type { Taken } from '../../../../durable/decisions/taken-row.ts'
import type { Message } from '../../../../protocols/message.ts'
import { RecentlyUsed } from '../../../../recently-used.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'
import {
  type CallMemory,
  type ConversationTitle,
  type FoundCall,
  type KeptConversation,
  type TitleRange,
  titleOf,
  type WaitingCall,
} from './call-memory.ts'

const MAX_BYTES = 256 * 1024 * 1024
const CONVERSATIONS = { maxItems: 10_000, maxBytes: MAX_BYTES }
const WAITING = { maxItems: 1000, maxBytes: MAX_BYTES }

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

  async readConversation(id: string, agentId: string): Promise<readonly Message[] | undefined> {
    const found = this.#entries.conversations.get(this.#prefix + id)
    return found?.agentId === agentId ? found.messages : undefined
  }

  async listTitles(agentId: string, { after = '', limit }: TitleRange): Promise<ConversationTitle[]> {
    const found: ConversationTitle[] = []
    for (const [key, conversation] of this.#entries.conversations) {
      const id = key.slice(this.#prefix.length)
      const isMeant = key.startsWith(this.#prefix) && conversation.agentId === agentId && id > after
      if (isMeant) found.push({ id, title: titleOf(conversation) })
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
  }

  async writeConversation(id: string = randomUUID(), conversation: KeptConversation): Promise<string> {
    this.#entries.conversations.set(this.#prefix + id, conversation)
    return id
  }

  async keepWaiting(call: WaitingCall): Promise<string> {
    const id = randomUUID()
    this.#entries.waiting.set(this.#prefix + id, call)
    return id
  }

  async findWaiting(id: string, name: string): Promise<FoundCall | undefined> {
    const call = this.#entries.waiting.get(this.#prefix + id)
    return call?.name === name ? { ...call, take: () => this.#take(id) } : undefined
  }

  async #take(id: string): Promise<Taken | undefined> {
    let call = this.#entries.waiting.get(this.#prefix + id)
    if (!call) return undefined
    this.#entries.waiting.delete(this.#prefix + id)
    return {
      spend: async () => {
        call = undefined
      },
      giveBack: async () => {
        if (call) this.#entries.waiting.set(this.#prefix + id, call)
      },
    }
  }

  /** No other server shares it. */
  async awaitAnswer(): Promise<() => void> {
    return () => {}
  }

  async passAnswer(): Promise<void> {}

  async close(): Promise<void> {}
}

interface Entries {
  readonly conversations: RecentlyUsed<KeptConversation>
  readonly waiting: RecentlyUsed<WaitingCall>
}

function makeEntries(): Entries {
  return {
    conversations: new RecentlyUsed({ ...CONVERSATIONS, bytesOf: ({ messages }) => bytesOfMessages(messages) }),
    waiting: new RecentlyUsed({ ...WAITING, bytesOf: ({ trail }) => bytesOfMessages(trail) }),
  }
}
