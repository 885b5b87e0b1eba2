import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Attachment, Message } from 'agent-host'

/**
 * The turns of one conversation, one a line. A turn is written by a single append: whatever instant the process dies, and
 * however many write at once, it is there whole or not at all.
 */
export class TurnFile {
  readonly #path: string

  /** @param key whose conversation it is; the name of the file does not show it */
  constructor(dir: string, key: string) {
    this.#path = join(dir, `${createHash('sha256').update(key).digest('hex')}.jsonl`)
  }

  /** Turns, oldest first. */
  async read(): Promise<Message[][]> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const turns: Message[][] = []
    for (const { messages, replaces } of text.split('\n').flatMap(readTurn)) {
      if (replaces) turns.pop()
      turns.push(messages)
    }
    return turns
  }

  /** @param replaces true for a turn that takes the place of the one before it, of which it is the rest */
  async append(turn: readonly Message[], replaces: boolean): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true })
    const line = replaces ? { replaces, messages: turn } : turn
    // The line break before ends what a full disk may have cut off.
    await appendFile(this.#path, `\n${JSON.stringify(line, writeBytes)}\n`, { flush: true })
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true })
  }
}

/** A message as it stands in the file: bytes as base64, addresses as texts. */
type StoredMessage =
  | Exclude<Message, { role: 'user' }>
  | (Omit<Extract<Message, { role: 'user' }>, 'attachments'> & { readonly attachments?: readonly StoredAttachment[] })

interface StoredAttachment extends Omit<Attachment, 'data'> {
  readonly data: string | { readonly base64: string }
}

function readTurn(line: string): { messages: Message[]; replaces: boolean }[] {
  try {
    const turn = JSON.parse(line) as StoredMessage[] | { messages: StoredMessage[] }
    const replaces = !Array.isArray(turn)
    return [{ messages: (replaces ? turn.messages : turn).map(readMessage), replaces }]
  } catch {
    // Empty, or cut off: it was never a turn.
    return []
  }
}

/** Bytes as base64. Not by the value: a Buffer has turned itself into an object before it gets here. */
function writeBytes(this: unknown, key: string, value: unknown): unknown {
  const { data } = this as { data?: unknown }
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
