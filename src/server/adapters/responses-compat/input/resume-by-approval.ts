import { runIdOf } from '../../../../durable/approvals/approvals.ts'
import type { Fields } from '../../../../json.ts'
import type { CreateRequest, RawInputItem } from '../routes/schema.ts'
import { namesEarlier } from './earlier-turns.ts'

/**
 * Continues the response that waits where a client answers its approvals and sends the whole history instead of its id. What the
 * client sends is left out: the stored conversation holds it, and only that is bound to the decision. Answers further up in a
 * history are those of earlier turns, and say nothing any more.
 */
export function resumeByApproval(body: CreateRequest): CreateRequest {
  const { input } = body
  if (typeof input === 'string' || namesEarlier(body) || !input.some(isAnswer)) return body
  const answers = input.slice(input.findLastIndex((item) => !isAnswer(item) && !isOutput(item)) + 1)
  const approval = answers.find(isAnswer)
  if (!approval) return { ...body, input: input.filter((item) => !isAnswer(item)) }
  const { approval_request_id: id }: Fields = approval
  // An id that is no text is refused where the item is read.
  return typeof id === 'string' ? { ...body, input: answers, previous_response_id: runIdOf(id) } : body
}

function isAnswer({ type }: RawInputItem): boolean {
  return type === 'mcp_approval_response'
}

function isOutput({ type }: RawInputItem): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}
