import type { Attachment, Message, Run } from 'agent-host'

/** The turns of one conversation. A turn is there whole or not at all, however many write at once. */
export interface Turns {
  /** Turns, oldest first: the latest of them, where there are more than are shown. */
  read(run: Run): Promise<Message[][]>
  /** @param replaces true for a turn that takes the place of the one before it, of which it is the rest */
  append(turn: readonly Message[], replaces: boolean, run: Run): Promise<void>
  remove(run: Run): Promise<void>
}

/** A message as it is stored: bytes as base64, addresses as texts. */
type StoredMessage =
  | Exclude<Message, { role: 'user' }>
  | (Omit<Extract<Message, { role: 'user' }>, 'attachments'> & { readonly attachments?: readonly StoredAttachment[] })

interface StoredAttachment extends Omit<Attachment, 'data'> {
  readonly data: string | { readonly base64: string }
}

/** Returns the JSON of a turn. */
export function writeTurn(turn: readonly Message[], replaces: boolean): string {
  return JSON.stringify(replaces ? { replaces, messages: turn } : turn, writeBytes)
}

/** Returns the turns that are left of these, as {@link writeTurn} wrote them: some take the place of the one before. */
export function readTurns(stored: readonly unknown[]): Message[][] {
  const turns: Message[][] = []
  for (const turn of stored as readonly (StoredMessage[] | { readonly messages: StoredMessage[] })[]) {
    const replaces = !Array.isArray(turn)
    if (replaces) turns.pop()
    turns.push((replaces ? turn.messages : turn).map(readMessage))
  }
  return turns
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
