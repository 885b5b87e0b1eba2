import { createHash } from 'node:crypto'
import type { Message, Run, Storage } from 'agent-host'

/** Number of beginnings that are looked up together. */
const PAGE = 50

/** Summaries by the messages they replace. */
export class Summaries {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** The longest beginning of a conversation of which there is a summary: how many messages it stands for. */
  async find(messages: readonly Message[], run: Run): Promise<{ summary: string; count: number } | undefined> {
    const keys = keysOf(messages)
    for (let end = keys.length; end > 0; end -= PAGE) {
      const start = Math.max(0, end - PAGE)
      const found = await Promise.all(keys.slice(start, end).map((key) => this.#storage.get(key, run)))
      const last = found.findLastIndex((summary) => summary !== undefined)
      if (last !== -1) return { summary: textOf(found[last]), count: start + last + 1 }
    }
    return undefined
  }

  async save(messages: readonly Message[], summary: string, run: Run): Promise<void> {
    // By this name the host finds what is stored for a user.
    const { user } = run
    await this.#storage.set(keyOf(messages), user === undefined ? summary : { user, summary }, run)
  }

  async remove(messages: readonly Message[], run: Run): Promise<void> {
    await this.#storage.delete(keyOf(messages), run)
  }
}

function textOf(stored: unknown): string {
  return typeof stored === 'string' ? stored : (stored as { readonly summary: string }).summary
}

function keyOf(messages: readonly Message[]): string {
  return keysOf(messages).at(-1) ?? ''
}

/** For each beginning of a conversation a key that no other has. */
function keysOf(messages: readonly Message[]): string[] {
  const hash = createHash('sha256')
  return messages.map((message) => {
    const { role, content } = message
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    hash.update(JSON.stringify([role, content, calls]))
    return `summaries/${hash.copy().digest('hex')}`
  })
}
