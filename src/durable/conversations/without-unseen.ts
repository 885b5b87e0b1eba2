import { type Attachment, isUser, type Message } from '../../protocols/message.ts'

/**
 * Leaves out the attachments of earlier messages that the agent would not see. In the message that it is to handle they stay,
 * and are refused.
 *
 * @param takes media types, such as `image/*`
 */
export function withoutUnseen(messages: readonly Message[], takes: readonly string[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'user' && message.attachments)) return messages
  const isTaken = ({ mediaType }: Attachment) =>
    takes.some((type) => type === '*/*' || type === mediaType || type === `${mediaType.split('/')[0]}/*`)
  const handled = messages.findLast(isUser)
  return messages.map((message) => {
    if (message.role !== 'user' || message === handled || !message.attachments) return message
    return { ...message, attachments: message.attachments.filter(isTaken) }
  })
}
