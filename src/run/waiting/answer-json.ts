import type { Attachment } from '../../protocols/message.ts'
import type { ToolResult } from '../../protocols/tool-provider.ts'
import { type AttachmentJson, fromAttachmentJson, toAttachmentJson } from '../attachment-json.ts'
import { mapAttachments, type WithAttachments } from '../map-attachments.ts'
import type { AnsweredCall, PendingAnswer } from './pending-call.ts'

/** Answer to a pending call, by the form of its attachments. */
export type AnswerWith<Form> =
  | Exclude<PendingAnswer, { readonly kind: 'client_tool' }>
  | { readonly callId: string; readonly kind: 'client_tool'; readonly result: WithAttachments<ToolResult, Form> }

/** Returns an answer with the attachments of its result in another form. */
export function mapAnswer<From, To>(answer: AnswerWith<From>, convert: (attachment: From) => To): AnswerWith<To> {
  return answer.kind === 'client_tool' ? { ...answer, result: mapAttachments(answer.result, convert) } : answer
}

export function toAnswerJson(answer: PendingAnswer): AnsweredCall['answer'] {
  return mapAnswer<Attachment, AttachmentJson>(answer, toAttachmentJson)
}

export function fromAnswerJson(json: AnsweredCall['answer']): PendingAnswer {
  return mapAnswer<AttachmentJson, Attachment>(json, fromAttachmentJson)
}
