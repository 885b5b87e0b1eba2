import type { OpenCall } from '../../../durable/adapter-runs/adapter-runs.ts'
import type { Decisions } from '../../../durable/decisions/resumption.ts'
import { badRequest } from '../../../errors.ts'
import type { GivenAnswer, PendingCall } from '../../../run/waiting/pending-call.ts'
import { invalidField, refusedField } from '../../bodies/invalid-field.ts'
import { parseField } from '../../bodies/json-body.ts'
import { makeValidator } from '../../bodies/validator.ts'
import { DecisionRequest, toGivenAnswer } from '../../inbox/decision-request.ts'
import { isClientCall } from './completion.ts'
import type { ChatRequest } from './schema.ts'

type Messages = ChatRequest['messages']

/** Name of the tool that stands for an approval where the client asks for it. */
const APPROVAL_TOOL = 'request_approval'
const APPROVAL_ID = /^mcpr_/

type NamedTool = { readonly function: { readonly name: string } } | { readonly custom: { readonly name: string } }

const NO_DECISIONS: Decisions = new Map()

const validate = makeValidator(DecisionRequest)

/** Tells whether the client takes approvals as calls of a tool of its own. */
export function takesApprovalCalls({ metadata }: ChatRequest): boolean {
  return metadata?.approvals === 'tool'
}

/**
 * Reads the answers at the end of a conversation that continue a stored run, by the ids of its open calls: results of the calls that stand
 * for approvals, and of the client's own tools. Nothing else decides, whatever its text.
 *
 * @throws HostError `REQUEST_INVALID` for a result that is no decision in JSON, and for a second one
 */
export function readDecisions(messages: Messages): Decisions {
  if (messages.at(-1)?.role !== 'tool') return NO_DECISIONS
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1)
  const decisions = results.filter(isDecision)
  if (decisions.length === 0) return NO_DECISIONS
  const calls = messages.flatMap(({ tool_calls: made }) => made ?? [])
  const ofClient = new Set(calls.flatMap((call) => (toolNameOf(call) === APPROVAL_TOOL ? [] : [call.id])))
  const read = new Map<string, GivenAnswer>()
  for (const decision of decisions) {
    const { tool_call_id: id } = decision
    if (read.has(id)) throw refusedField('messages', `'${id}' is decided twice`)
    const text = textOf(decision.content, () => `messages[${messages.indexOf(decision)}].content`)
    read.set(id, ofClient.has(id) ? { kind: 'client_tool', result: { text } } : parseDecision(id, text))
  }
  return read
}

/** Leaves out the calls that stand for approvals, and their results: no model has made them. */
export function withoutApprovals(messages: Messages): Messages {
  if (!messages.some(isDecision) && !messages.some(hasApproval)) return messages
  return messages.flatMap((message) => {
    if (isDecision(message)) return []
    if (!hasApproval(message)) return [message]
    const others = (message.tool_calls ?? []).filter(({ id }) => !APPROVAL_ID.test(id))
    const isEmpty = others.length === 0 && (message.content ?? '') === ''
    return isEmpty ? [] : [{ ...message, tool_calls: others.length > 0 ? others : null }]
  })
}

type DecisionMessage = Messages[number] & { readonly tool_call_id: string }

function isDecision(message: Messages[number]): message is DecisionMessage {
  return typeof message.tool_call_id === 'string' && APPROVAL_ID.test(message.tool_call_id)
}

function hasApproval({ tool_calls: calls }: Messages[number]): boolean {
  return calls?.some(({ id }) => APPROVAL_ID.test(id)) ?? false
}

/** Tells whether a tool stands for approvals: it is the client's, and no model calls it. */
export function isApprovalTool({ name }: { name: string }): boolean {
  return name === APPROVAL_TOOL
}

/** Name of a tool of the client, or of one that it chooses, or calls. */
export function toolNameOf(tool: NamedTool): string {
  return 'custom' in tool ? tool.custom.name : tool.function.name
}

/** Returns an open call of a stored run in the shape of a call of the client's tool. */
export function toApprovalCall({ id, call }: OpenCall): PendingCall {
  const { kind, name, arguments: args, message, asker } = call
  if (isClientCall(call)) return { ...call, callId: id }
  const asked = {
    kind,
    name,
    arguments: args,
    ...(message === undefined ? {} : { message }),
    ...(asker ? { agent: asker.agent, asked_by: asker.askedBy } : {}),
  }
  return { callId: id, kind: 'client_tool', name: APPROVAL_TOOL, arguments: asked }
}

function parseDecision(id: string, text: string): GivenAnswer {
  const { value, error } = validate(parseResult(id, text))
  if (error) throw badRequest(`The decision about '${id}': ${error.message}`)
  return toGivenAnswer(value)
}

function textOf(content: Messages[number]['content'], nameField: () => string): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => part.text ?? '')
  const wrong = texts.findIndex((text) => typeof text !== 'string')
  if (wrong !== -1) throw invalidField(`${nameField()}[${wrong}].text`, 'must be a string.')
  return texts.join('')
}

function parseResult(id: string, text: string): unknown {
  const value = parseField(text, 'messages')
  if (value !== undefined) return value
  const form = '{"decision": "approve"}, "reject", "edit" or "answer"'
  throw badRequest(`messages: the result of '${id}' must be JSON such as ${form}`)
}
