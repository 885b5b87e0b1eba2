import { hash } from 'node:crypto'
import {
  type Attachment,
  fieldsOf,
  type Message,
  messageOf,
  type Run,
  type Storage,
  type StoredValue,
} from 'agent-host'

const PAGE = 200

/** A message as it is stored: bytes as base64, addresses as texts. */
type StoredMessage =
  | Exclude<Message, { role: 'user' }>
  | (Omit<Extract<Message, { role: 'user' }>, 'attachments'> & { readonly attachments?: readonly StoredAttachment[] })

interface StoredAttachment extends Omit<Attachment, 'data'> {
  readonly data: string | { readonly base64: string }
}

/** A stored turn, and the key of its record. */
export interface StoredTurn {
  readonly key: string
  readonly messages: readonly Message[]
}

/** The turns of one conversation. A turn is there whole or not at all, however many write at once. */
export class TurnLog {
  readonly #storage: Storage
  readonly #log: string
  readonly #shown: number
  readonly #warn: (message: string) => void

  /**
   * @param key whose conversation it is; the name of the log does not show it
   * @param shown number of turns that are read, the latest
   * @param warn of turns that cannot be read, which are left out
   */
  constructor(storage: Storage, key: string, shown: number, warn: (message: string) => void) {
    this.#storage = storage
    this.#log = `turns/${hash('sha256', key)}`
    this.#shown = shown
    this.#warn = warn
  }

  /** Returns the latest turns, oldest first. */
  async read(run: Run): Promise<StoredTurn[]> {
    const latest = await this.#storage.list({ prefix: `${this.#log}/`, order: 'desc', limit: this.#shown }, run)
    return readTurns(latest.reverse(), this.#warn)
  }

  /** @param replaces key of a turn that this one takes the place of, because it is the rest of it */
  async append(turn: readonly Message[], replaces: string | undefined, run: Run): Promise<void> {
    // By this name the host finds what is stored for a user.
    const { user } = run
    const more = { ...(replaces === undefined ? {} : { replaces }), ...(user === undefined ? {} : { user }) }
    const text = JSON.stringify(Object.keys(more).length > 0 ? { ...more, messages: turn } : turn, writeBytes)
    await this.#storage.append(this.#log, JSON.parse(text), run)
  }

  async remove(run: Run): Promise<void> {
    for (let count = PAGE; count === PAGE; ) {
      const page = await this.#storage.list({ prefix: `${this.#log}/`, limit: PAGE }, run)
      await Promise.all(page.map(({ key }) => this.#storage.delete(key, run)))
      count = page.length
    }
  }
}

/** Returns the turns that are left of these: some take the place of an earlier one. */
function readTurns(stored: readonly StoredValue[], warn: (message: string) => void): StoredTurn[] {
  const turns = new Map<string, StoredTurn>()
  for (const { key, value } of stored) {
    // Earlier versions write true for the one before.
    const turn = value as StoredMessage[] | { replaces?: string | true; messages: StoredMessage[] }
    try {
      const { replaces, messages } = Array.isArray(turn) ? { messages: turn } : turn
      const read = messages.map(readMessage)
      turns.delete(replaces === true ? ([...turns.keys()].at(-1) ?? '') : (replaces ?? ''))
      turns.set(key, { key, messages: read })
    } catch (error) {
      warn(`The turn in '${key}' is left out: ${messageOf(error)}`)
    }
  }
  return [...turns.values()]
}

/** Bytes as base64. Not by the value: a Buffer has turned itself into an object before it gets here. */
function writeBytes(this: unknown, key: string, value: unknown): unknown {
  const { data } = fieldsOf(this)
  return key === 'data' && data instanceof Uint8Array ? { base64: Buffer.from(data).toString('base64') } : value
}

function readMessage(message: StoredMessage): Message {
  if (message.role !== 'user') return message
  const { attachments, ...rest } = message
  return attachments ? { ...rest, attachments: attachments.map(readAttachment) } : rest
}

function readAttachment({ data, ...facts }: StoredAttachment): Attachment {
  return { ...facts, data: typeof data === 'string' ? new URL(data) : Buffer.from(data.base64, 'base64') }
}
