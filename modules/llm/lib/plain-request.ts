import { createHash } from 'node:crypto'
import type { Attachment, LLMRequest } from 'agent-host'

/** A request as the cassettes of earlier versions have it: attachments by their checksums. */
export function toPlainRequest({ messages, ...settings }: LLMRequest): object {
  return {
    messages: messages.map((message) =>
      'attachments' in message && message.attachments
        ? { ...message, attachments: message.attachments.map(toPlainFile) }
        : message,
    ),
    ...settings,
  }
}

function toPlainFile({ data, ...facts }: Attachment): object {
  if (data instanceof URL && data.protocol !== 'data:') return { ...facts, url: data.href }
  return {
    ...facts,
    sha256: createHash('sha256')
      .update(data instanceof URL ? data.href : data)
      .digest('hex'),
  }
}
