import type { PendingCall } from '../../../run/pending-call.ts'
import type { RunEvent } from '../../../run/run-event.ts'
import { attachmentToMarkdown } from '../../attachment-to-markdown.ts'

/** Content that an event adds to the answer: text, an attachment as markdown, or a decision that the run waits for; else empty. */
export function eventToContent(event: RunEvent): string {
  switch (event.type) {
    case 'text':
      return event.text
    case 'attachment':
      return attachmentToMarkdown(event.attachment)
    case 'pending':
      return describeDecision(event.pending)
    default:
      return ''
  }
}

const WHERE = 'Chat completions take no decisions: ask through the responses API, MCP or agent-host chat.'

/** A message of the user is no decision, whatever it says: this API only tells that one is needed. */
function describeDecision({ kind, name, arguments: args, message = '', callId }: PendingCall): string {
  if (kind === 'approval') return `\n\nWaiting for approval of ${name} ${JSON.stringify(args)} (${callId}). ${WHERE}\n`
  return kind === 'question' ? `\n\n${name} waits for an answer: ${message} (${callId}). ${WHERE}\n` : ''
}
