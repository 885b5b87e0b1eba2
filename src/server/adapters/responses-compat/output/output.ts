import { approvalId } from '../../../../durable/approvals/approvals.ts'
import { type AttachmentStep, type EndStep, isEnd, type Step } from '../../../../durable/runs/steps.ts'
import type { Usage } from '../../../../protocols/run.ts'
import { fromAttachmentJson } from '../../../../run/attachment-json.ts'
import type { PendingCall } from '../../../../run/state/pending-call.ts'
import { attachmentToMarkdown } from '../../../replies/attachment-to-markdown.ts'
import { outputItemId } from '../ids.ts'
import type {
  ApprovalRequest,
  FunctionCall,
  ImageCall,
  McpCall,
  OutputItem,
  OutputMessage,
  Reasoning,
  ResponseRecord,
  TokenUsage,
} from '../routes/schema.ts'

/** The output of a response as it grows. */
export class Output {
  readonly #responseId: string
  readonly #items: OutputItem[] = []
  /** Places of the own calls that have no result yet, by call id. */
  readonly #openCalls = new Map<string, number>()
  #open: { readonly type: 'message' | 'reasoning'; text: string } | undefined
  #hasAnswer = false
  #pendingCalls = 0

  constructor(responseId: string) {
    this.#responseId = responseId
  }

  /** Type of the item that is under way, to which the next piece is added. */
  get open(): 'message' | 'reasoning' | undefined {
    return this.#open?.type
  }

  /** True once there is a message, or a call that the client has to answer. */
  get hasAnswer(): boolean {
    return this.#hasAnswer
  }

  /** Place of the item that is under way, or of the next. */
  get index(): number {
    return this.#items.length
  }

  addText(text: string): void {
    this.#open ??= { type: 'message', text: '' }
    this.#open.text += text
    this.#hasAnswer = true
  }

  addReasoning(text: string): void {
    this.#open ??= { type: 'reasoning', text: '' }
    this.#open.text += text
  }

  /** Returns the item that is under way. */
  current(status: OutputMessage['status']): OutputMessage | Reasoning {
    const { type, text } = this.#open ?? { type: 'message', text: '' }
    const id = outputItemId(type, this.#responseId, this.index)
    if (type === 'reasoning') return { type, id, summary: [{ type: 'summary_text', text }] }
    return { type, id, status, role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }
  }

  close(status: OutputMessage['status'] = 'completed'): OutputMessage | Reasoning {
    const item = this.current(status)
    this.#items.push(item)
    this.#open = undefined
    return item
  }

  /** Adds a call that the run waits for; undefined for a question, which no item of this API stands for. */
  addPending({ callId, kind, name, arguments: args }: PendingCall): FunctionCall | ApprovalRequest | undefined {
    const place = this.#pendingCalls++
    if (kind === 'question') return undefined
    this.#hasAnswer = true
    if (kind === 'client_tool') {
      const type = 'function_call'
      const id = this.#nextId(type)
      return this.#add({ type, id, call_id: callId, name, arguments: JSON.stringify(args), status: 'completed' })
    }
    const id = approvalId(this.#responseId, place)
    return this.#add({ type: 'mcp_approval_request', id, server_label: name, name, arguments: JSON.stringify(args) })
  }

  openCall({ id: callId, name, moduleId, arguments: args }: CallFields): McpCall {
    this.#openCalls.set(callId, this.index)
    return this.#add({
      type: 'mcp_call',
      id: this.#nextId('mcp_call'),
      server_label: moduleId,
      name,
      arguments: JSON.stringify(args),
      output: null,
      error: null,
      status: 'in_progress',
      approval_request_id: null,
    })
  }

  /** @returns the call with its result and its place; undefined for a call of an earlier response */
  closeCall({ callId, text, isError }: ResultFields): { item: McpCall; index: number } | undefined {
    const index = this.#openCalls.get(callId)
    if (index === undefined) return undefined
    this.#openCalls.delete(callId)
    const result = isError ? { error: text, status: 'failed' as const } : { output: text, status: 'completed' as const }
    const item: McpCall = { ...(this.#items[index] as McpCall), ...result }
    this.#items[index] = item
    return { item, index }
  }

  addImage(base64: string): ImageCall {
    this.#hasAnswer = true
    const type = 'image_generation_call'
    return this.#add({ type, id: this.#nextId(type), status: 'completed', result: base64 })
  }

  /** Restarts the answer: open items of the previous attempt stay incomplete. */
  restart(): void {
    this.#openCalls.clear()
    this.#hasAnswer = false
  }

  items(statusOfOpen: 'in_progress' | 'incomplete'): OutputItem[] {
    const items: OutputItem[] = []
    for (const item of this.#items) {
      items.push(item.type === 'mcp_call' && item.status === 'in_progress' ? { ...item, status: statusOfOpen } : item)
    }
    if (this.#open) items.push(this.current(statusOfOpen))
    return items
  }

  #nextId(type: Parameters<typeof outputItemId>[0]): string {
    return outputItemId(type, this.#responseId, this.index)
  }

  #add<T extends OutputItem>(item: T): T {
    this.#items.push(item)
    return item
  }
}

type CallFields = Extract<Step, { call: unknown }>['call']
type ResultFields = Extract<Step, { result: unknown }>['result']

/** Bytes of an image as base64; any other attachment as a link, which is a data URL where it has no address. */
export function renderAttachment({ attachment }: AttachmentStep): { image: string } | { text: string } {
  const { mediaType, base64 } = attachment
  if (base64 !== undefined && mediaType.startsWith('image/')) return { image: base64 }
  return { text: attachmentToMarkdown(fromAttachmentJson(attachment)) }
}

/** The record as it stands after these steps. */
export function recordAfter(begun: ResponseRecord, steps: readonly Step[]): ResponseRecord {
  const output = new Output(begun.id)
  let record = begun
  for (const step of steps) {
    if (isEnd(step)) record = endRecord(record, output, step)
    else addStep(output, step)
  }
  return record === begun ? { ...begun, output: output.items('in_progress') } : record
}

function addStep(output: Output, step: Exclude<Step, EndStep>): void {
  if (typeof step === 'string') addText(output, step)
  else if ('acted' in step) return
  else if ('restart' in step) {
    if (output.open) output.close('incomplete')
    output.restart()
  } else if ('reasoning' in step) {
    if (output.open === 'message') output.close()
    output.addReasoning(step.reasoning)
  } else if ('result' in step) output.closeCall(step.result)
  else if ('attachment' in step) addAttachment(output, step)
  else {
    if (output.open) output.close()
    if ('call' in step) output.openCall(step.call)
    else output.addPending(step.pending)
  }
}

function addAttachment(output: Output, step: AttachmentStep): void {
  const rendered = renderAttachment(step)
  if ('text' in rendered) addText(output, rendered.text)
  else {
    if (output.open) output.close()
    output.addImage(rendered.image)
  }
}

function addText(output: Output, text: string): void {
  if (output.open === 'reasoning') output.close()
  output.addText(text)
}

/** The record with this end. Completed items stay completed. */
export function endRecord(record: ResponseRecord, output: Output, step: EndStep): ResponseRecord {
  const { end, at, usage, error, incomplete } = step
  if (end === 'completed') completeOutput(output)
  return {
    ...record,
    status: end,
    completed_at: end === 'completed' ? at : record.completed_at,
    output: output.items('incomplete'),
    error: error === undefined ? null : { code: 'server_error', message: error },
    incomplete_details: incomplete === undefined ? record.incomplete_details : { reason: incomplete },
    usage: usage ? toTokenUsage(usage) : record.usage,
  }
}

/** A completed response has a message, an empty one without text. */
function completeOutput(output: Output): void {
  if (output.open) output.close()
  if (output.hasAnswer) return
  output.addText('')
  output.close()
}

export function toTokenUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): TokenUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
