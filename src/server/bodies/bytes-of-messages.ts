import type { Message } from '../../protocols/message.ts'

/** Memory that messages need at most: two bytes a character, and the bytes of attachments. */
export function bytesOfMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + bytesOf(message), 0)
}

function bytesOf(message: Message): number {
  const attachments = ('attachments' in message && message.attachments) || []
  const calls = 'toolCalls' in message ? JSON.stringify(message.toolCalls).length : 0
  return attachments.reduce(
    (sum, { data }) => sum + (data instanceof URL ? 2 * data.href.length : data.byteLength),
    2 * (message.content.length + calls),
  )
}
