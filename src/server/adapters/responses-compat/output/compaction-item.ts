import { HostError } from '../../../../errors.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { InputItem } from '../routes/schema.ts'

const HEADING = 'Summary of the conversation so far:'

/** Content of a compaction item. Clients send it back unchanged; it is encoded, not encrypted: they know the conversation. */
export function encodeSummary(summary: string): string {
  return Buffer.from(JSON.stringify({ version: 1, summary })).toString('base64url')
}

/**
 * Returns the message by which an agent sees a compaction item.
 *
 * @param at place of the item, for the error
 * @throws HostError `REQUEST_INVALID` for an item that was not made here
 */
export function toSummaryMessage(item: InputItem, at: string): Message {
  const { encrypted_content: content } = item as { encrypted_content?: unknown }
  const summary = typeof content === 'string' ? decode(content) : undefined
  if (typeof summary === 'string') return { role: 'system', content: `${HEADING}\n${summary}` }
  throw new HostError('REQUEST_INVALID', `${at}.encrypted_content must be what /responses/compact answered`)
}

function decode(content: string): unknown {
  try {
    return JSON.parse(Buffer.from(content, 'base64url').toString())?.summary
  } catch {
    return undefined
  }
}
