import { decodeBase64 } from '../../../../base64.ts'
import type { ReasoningData } from '../../../../durable/runs/sealed-reasoning.ts'
import { type Fields, fieldsOf, isObject } from '../../../../json.ts'
import type { Attachment, Message, ProviderMetadata, ToolCall } from '../../../../protocols/message.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import type { ToolResult } from '../../../../protocols/tool-provider.ts'
import { fromMessageJson } from '../../../../run/attachment-json.ts'
import { toToolMessage } from '../../../../run/state/trail.ts'
import { callsOf } from '../../../../wire/paired-calls.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import { parseField } from '../../../bodies/json-body.ts'
import { markdownToAttachments } from '../../../bodies/markdown-to-attachments.ts'
import { type CompactionContent, toCompacted, toSummaryMessage } from '../compaction/compaction.ts'
import type { InputItem } from '../routes/schema.ts'
import { type CallKind, CallPairs } from './call-pairs.ts'
import { flatName, mergeAllTools, toAddedTools } from './client-tools.ts'
import { readParts } from './read-parts.ts'
import { isSealed, type Unsealing } from './sealed-items.ts'

type Assistant = Extract<Message, { role: 'assistant' }>

/** Output of a client's tool. */
export interface CallOutput {
  readonly callId: string
  readonly kind: CallKind
  /** Place in the input. */
  readonly at: string
  readonly result: ToolResult
}

/** Decision about a call that needs the approval of a person. */
export interface ApprovalReply {
  /** Id of the item that asked for it. */
  readonly requestId: string
  readonly isApproved: boolean
  readonly reason: string | undefined
}

/** Input of a request as the agent sees it. */
export interface ReadInput {
  /** Messages in their order, calls with their outputs among them. */
  readonly messages: readonly Message[]
  /** Outputs of calls that are not part of the input: they answer the response that is continued. */
  readonly outputs: readonly CallOutput[]
  readonly approvals: readonly ApprovalReply[]
  readonly calls: CallPairs
  /** Tools that the items add to the conversation; undefined where there are none. */
  readonly added: AddedTools | undefined
}

/** Tools of `additional_tools` items. */
export interface AddedTools {
  readonly tools: readonly ToolDefinition[]
  /** Place of the first item. */
  readonly at: string
}

/** Reads an input that is one text: a message of the user. */
export function readText(content: string): ReadInput {
  return { messages: [{ role: 'user', content }], outputs: [], approvals: [], calls: new CallPairs(), added: undefined }
}

/**
 * Reads the items of an input. Items that are no part of a conversation are not for the agent.
 *
 * @param field of the request, for errors
 * @param unsealing left out, sealed items are no part of the conversation
 * @throws HostError `REQUEST_INVALID` naming the item
 */
export function readInput(items: readonly InputItem[], field = 'input', unsealing?: Unsealing): ReadInput {
  const messages: Message[] = []
  const outputs: CallOutput[] = []
  const approvals: ApprovalReply[] = []
  let calls = new CallPairs()
  const decided = new Set<string>()
  const dataOfCalls = new Map<string, ProviderMetadata>()
  const added: (readonly ToolDefinition[])[] = []
  let addedAt: string | undefined
  const handled = items.findLast(({ type, role }) => type === 'message' && role === 'user')
  for (const [index, item] of items.entries()) {
    const at = `${field}[${index}]`
    if (item.type === 'message') addMessage(messages, toMessage(item, at, item === handled))
    else if (item.type === 'reasoning') addReasoning(messages, dataOfCalls, readReasoning(item, at, unsealing))
    else if (item.type === 'function_call' || item.type === 'mcp_call' || item.type === 'custom_tool_call') {
      const kind = item.type === 'custom_tool_call' ? 'custom' : 'function'
      const call = withData(toCall(item, kind, at), dataOfCalls)
      calls.open(call.id, kind, at)
      addTo('toolCalls', messages, call)
      if (item.type !== 'mcp_call') continue
      calls.close(call.id, kind, at)
      messages.push(toToolMessage(call.id, toOwnResult(item)))
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      const output = toOutput(item, at)
      if (calls.close(output.callId, output.kind, at)) messages.push(toToolMessage(output.callId, output.result))
      else outputs.push(output)
    } else if (item.type === 'image_generation_call') addImage(messages, item)
    else if (item.type === 'mcp_approval_response') approvals.push(toApproval(item, at, decided))
    else if (item.type === 'compaction') {
      const { summary, kept, customCalls } = readCompaction(item, at, unsealing)
      if (kept) {
        // What stands before it is no longer sent.
        messages.splice(0, messages.length, ...toCompacted(summary, kept.map(fromMessageJson)))
        calls = pairKept(messages, customCalls, at)
      } else messages.push(toSummaryMessage(summary))
    } else if (item.type === 'additional_tools') {
      added.push(toAddedTools(item, at))
      addedAt ??= at
    }
  }
  const said = unsealing ? messages.filter((message) => !isThoughtAlone(message)) : messages
  const tools = addedAt === undefined ? undefined : { tools: mergeAllTools(added), at: addedAt }
  return { messages: said, outputs, approvals, calls, added: tools }
}

/** @throws HostError `REQUEST_INVALID` in an extended dialect, for data that was not sealed here, for this tenant and agent */
function readReasoning(item: InputItem, at: string, unsealing: Unsealing | undefined): ReasoningData | undefined {
  if (!isSealed(item) || !unsealing?.reasoning) return undefined
  const data = unsealing.reasoning(item.encrypted_content)
  if (data || !unsealing.isStrict) return data
  throw invalidField(`${at}.encrypted_content`, 'cannot be opened: send what this server gave, to the same agent')
}

/** @throws HostError `REQUEST_INVALID` for an item that was not made here, for this tenant */
function readCompaction(item: InputItem, at: string, unsealing: Unsealing | undefined): CompactionContent {
  const content = isSealed(item) ? unsealing?.compaction(item.encrypted_content) : undefined
  if (content) return content
  throw invalidField(`${at}.encrypted_content`, 'cannot be opened: send what this server gave')
}

/** The calls of what is kept, with their results. */
function pairKept(kept: readonly Message[], customCalls: readonly string[] = [], at = ''): CallPairs {
  const calls = new CallPairs()
  for (const message of kept) {
    const kindOf = (id: string) => (customCalls.includes(id) ? 'custom' : 'function')
    for (const { id } of callsOf(message)) calls.open(id, kindOf(id), at)
    if (message.role === 'tool') calls.close(message.toolCallId, kindOf(message.toolCallId), at)
  }
  return calls
}

/** Reasoning begins the message of an answer; what directly follows other reasoning stands in its place. */
function addReasoning(
  messages: Message[],
  dataOfCalls: Map<string, ProviderMetadata>,
  { reasoning, calls }: ReasoningData = { reasoning: [], calls: {} },
): void {
  for (const [id, data] of Object.entries(calls)) dataOfCalls.set(id, data)
  if (reasoning.length === 0) return
  if (isThoughtAlone(messages.at(-1))) messages.pop()
  messages.push({ role: 'assistant', content: '', reasoning })
}

function addMessage(messages: Message[], message: Message): void {
  const last = messages.at(-1)
  if (message.role !== 'assistant' || !isThoughtAlone(last)) messages.push(message)
  else messages[messages.length - 1] = { ...last, ...message }
}

/** Reasoning whose answer does not follow: the agent's own call that it led to is not shown to clients. */
function isThoughtAlone(message: Message | undefined): boolean {
  if (message?.role !== 'assistant' || !message.reasoning) return false
  return message.content === '' && !message.toolCalls && !message.attachments
}

function withData(call: ToolCall, dataOfCalls: ReadonlyMap<string, ProviderMetadata>): ToolCall {
  const providerMetadata = dataOfCalls.get(call.id)
  return providerMetadata ? { ...call, providerMetadata } : call
}

/** The calls of one step stand in one message, whose lists grow in place: there may be very many. */
function addTo(list: 'toolCalls' | 'attachments', messages: Message[], added: ToolCall | Attachment): void {
  const last = messages.at(-1)
  const said = last?.role === 'assistant' ? last : undefined
  const earlier = said?.[list] as (ToolCall | Attachment)[] | undefined
  if (earlier) earlier.push(added)
  else if (said) messages[messages.length - 1] = { ...said, [list]: [added] }
  else messages.push({ role: 'assistant', content: '', [list]: [added] })
}

/** An image of an earlier answer. Without its bytes it is only a reference to what the client has. */
function addImage(messages: Message[], item: InputItem): void {
  const { result }: Fields = item
  if (typeof result !== 'string' || result === '') return
  addTo('attachments', messages, { mediaType: imageTypeOf(result), data: decodeBase64(result) })
}

/** Media types by how their bytes begin, in base64. */
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '/9j/': 'image/jpeg',
  R0lG: 'image/gif',
  UklG: 'image/webp',
}

function imageTypeOf(base64: string): string {
  return IMAGE_TYPES[base64.slice(0, 4)] ?? 'image/png'
}

function toCall(item: InputItem, kind: CallKind, at: string): ToolCall {
  const { id, call_id: callId = kind === 'function' ? id : undefined, name, namespace }: Fields = item
  if (typeof callId !== 'string' || typeof name !== 'string') throw invalidField(at, 'must have call_id and name')
  const args = kind === 'function' ? parseArguments(item, at) : readFreeText(item, at)
  return { id: callId, name: flatName(name, namespace), arguments: args }
}

function readFreeText({ input }: Fields, at: string): Fields {
  if (typeof input === 'string') return { input }
  throw invalidField(`${at}.input`, 'must be a string.')
}

function parseArguments({ arguments: text }: Fields, at: string): Fields {
  const field = `${at}.arguments`
  if (typeof text !== 'string') throw invalidField(field, 'must be a JSON object, as a string')
  const value = text === '' ? {} : parseField(text, field)
  if (isObject(value)) return value
  throw invalidField(field, 'must be a JSON object')
}

function toOwnResult(item: InputItem): ToolResult {
  const { output, error }: Fields = item
  if (typeof output === 'string') return { text: output }
  return { text: typeof error === 'string' ? error : CUT_OFF, isError: true }
}

const CUT_OFF = 'The call was cut off; its result is not known.'

function toOutput(item: InputItem, at: string): CallOutput {
  const { call_id: callId, output }: Fields = item
  if (typeof callId !== 'string') throw invalidField(`${at}.call_id`, 'must be a string')
  const kind = item.type === 'custom_tool_call_output' ? 'custom' : 'function'
  if (typeof output === 'string') return { callId, kind, at, result: { text: output } }
  if (!Array.isArray(output)) {
    throw invalidField(`${at}.output`, 'must be a string or an array of parts')
  }
  const { text, attachments } = readParts(output.map(fieldsOf), `${at}.output`, true)
  return { callId, kind, at, result: { text, ...(attachments.length > 0 ? { attachments } : {}) } }
}

/** @param decided ids of the requests that are decided before it */
function toApproval(item: InputItem, at: string, decided: Set<string>): ApprovalReply {
  const { approval_request_id: requestId, approve: isApproved, reason = null }: Fields = item
  if (typeof requestId !== 'string') throw invalidField(`${at}.approval_request_id`, 'must be a string')
  if (typeof isApproved !== 'boolean') throw invalidField(`${at}.approve`, 'must be a boolean')
  if (reason !== null && typeof reason !== 'string') throw invalidField(`${at}.reason`, 'must be a string')
  if (decided.has(requestId)) throw invalidField(`${at}.approval_request_id`, `is decided already: '${requestId}'`)
  decided.add(requestId)
  return { requestId, isApproved, reason: reason ?? undefined }
}

/** Parts that cannot be read are refused in the message that the agent is to handle, and left out of earlier ones. */
function toMessage(item: InputItem, at: string, isHandled: boolean): Message {
  const { role, content = [] } = item
  const { phase }: Fields = item
  const { text, attachments } = readParts(content, `${at}.content`, isHandled)
  if (role === 'assistant') return toAssistantMessage(text, phase)
  if (role !== 'user') return { role: 'system', content: text }
  return { role, content: text, ...(attachments.length > 0 ? { attachments } : {}) }
}

/** An earlier answer. What it showed as links with data URLs are attachments again. */
function toAssistantMessage(said: string, phase: unknown): Assistant {
  const { text, attachments } = markdownToAttachments(said)
  const isPhase = phase === 'commentary' || phase === 'final_answer'
  return {
    role: 'assistant',
    content: text,
    ...(isPhase ? { phase } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
  }
}
