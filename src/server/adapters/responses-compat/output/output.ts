import { approvalId } from '../../../../durable/approvals/approvals.ts'
import {
  type AttachmentStep,
  type CallStep,
  type EndStep,
  isEnd,
  type ResultStep,
  type Step,
} from '../../../../durable/runs/steps.ts'
import { fromAttachmentJson } from '../../../../run/attachment-json.ts'
import type { PendingCall } from '../../../../run/waiting/pending-call.ts'
import { attachmentToMarkdown } from '../../../replies/attachment-to-markdown.ts'
import { COMPAT, type Dialect } from '../../../replies/dialect.ts'
import { outputItemId } from '../ids.ts'
import type {
  ApprovalRequest,
  CustomToolCall,
  ExtendedRecord,
  FunctionCall,
  McpCall,
  OutputItem,
  OutputMessage,
  Reasoning,
  ResponseRecord,
} from '../routes/schema.ts'
import { addTokenUsage } from './token-usage.ts'

/** Change of an output. A text is a piece of the message that is open. */
export type Change =
  | string
  /** Piece of the reasoning that is open. */
  | { readonly reasoning: string }
  /** Item that begins empty and grows by pieces; it is open until it is closed. */
  | { readonly opened: Growing; readonly index: number }
  | { readonly closed: Growing; readonly index: number }
  /** Item that comes in one piece. An own call has no result yet. */
  | { readonly added: Exclude<OutputItem, OutputMessage>; readonly index: number }
  /** Own call with its result. */
  | { readonly answered: McpCall; readonly index: number }

/** Item that grows by pieces. */
type Growing = OutputMessage | Reasoning

/** Item that is open, with its text so far. */
interface Open {
  readonly type: Growing['type']
  text: string
}

/** Dialect of a record: an extended one has phases of messages, and a status for an answer that was cut off. */
export type RecordForm = Pick<Dialect, 'isExtended'>

const NONE: readonly Change[] = Object.freeze([])

/** The record as it stands after these steps. */
export function recordAfter(begun: ResponseRecord, steps: readonly Step[], form: RecordForm = COMPAT): ExtendedRecord {
  const output = new Output(begun, form)
  for (const step of steps) output.apply(step)
  return output.record
}

/** The output of a response, as it grows step by step: the one interpretation of steps, for records and events alike. */
export class Output {
  readonly #begun: ResponseRecord
  readonly #form: RecordForm
  readonly #items: OutputItem[] = []
  /** Places of the own calls that have no result yet, by call id. */
  readonly #openCalls = new Map<string, { readonly call: McpCall; readonly index: number }>()
  #open: Open | undefined
  /** True once there is a message, or a call that the client has to answer. */
  #hasAnswer = false
  #pendingCalls = 0
  #ended: ExtendedRecord | undefined
  readonly #known: ExtendedRecord | undefined

  /**
   * @param begun the record as it was at the beginning
   * @param known the record that the steps end with, where it is known: its texts are not put together again
   */
  constructor(begun: ResponseRecord, form: RecordForm, known?: ExtendedRecord) {
    this.#begun = begun
    this.#form = form
    this.#known = known
    // A summary of the conversation comes before the answer.
    this.#items.push(...begun.output)
    this.#hasAnswer = begun.output.length > 0
  }

  /** The record as it stands. */
  get record(): ExtendedRecord {
    return this.#ended ?? { ...this.#begun, output: this.#listItems('in_progress') }
  }

  /** Takes a further step. Returns what it changes, in order. */
  apply(step: Step): readonly Change[] {
    if (typeof step === 'string') return this.#addText(step)
    if (isEnd(step)) return this.#end(step)
    if ('restart' in step) return this.#restart()
    if ('reasoning' in step) return this.#addReasoning(step.reasoning)
    if ('sealed' in step) return this.#seal(step.sealed)
    if ('result' in step) return this.#answerCall(step.result)
    if ('attachment' in step) return this.#addAttachment(step)
    if ('call' in step) return this.#addCall(step.call)
    return 'pending' in step ? this.#addPending(step.pending) : NONE
  }

  #addText(text: string): readonly Change[] {
    this.#hasAnswer = true
    return this.#grow('message', text, text)
  }

  #addReasoning(reasoning: string): readonly Change[] {
    return this.#grow('reasoning', reasoning, { reasoning })
  }

  /** Ends the open reasoning with its data; where none is shown, an item has the data alone. */
  #seal(sealed: string): readonly Change[] {
    const isOpen = this.#open?.type === 'reasoning'
    const closed = this.#close('completed', 'commentary', sealed)
    if (isOpen) return closed
    const id = this.#nextId('reasoning')
    return [...closed, this.#add({ type: 'reasoning', id, summary: [], encrypted_content: sealed })]
  }

  /** Adds a piece to the open item; to a new one where none of its type is open. */
  #grow(type: Growing['type'], text: string, piece: Change): readonly Change[] {
    if (this.#open?.type === type) {
      if (!this.#known) this.#open.text += text
      return [piece]
    }
    const opening = [...this.#close(), this.#begin(type), piece]
    this.#open = { type, text }
    return opening
  }

  #begin(type: Growing['type']): Change {
    this.#open = { type, text: '' }
    return { opened: this.#growing(type, '', 'in_progress'), index: this.#items.length }
  }

  /**
   * Closes the open item, if there is one.
   *
   * @param phase of a message
   * @param sealed data of a reasoning
   */
  #close(
    status: OutputMessage['status'] = 'completed',
    phase: OutputMessage['phase'] = 'commentary',
    sealed?: string,
  ): readonly Change[] {
    if (!this.#open) return NONE
    const closed = this.#current(this.#open, status)
    if (closed.type === 'reasoning' && sealed !== undefined) closed.encrypted_content = sealed
    if (closed.type === 'message' && status === 'completed' && this.#form.isExtended) closed.phase = phase
    this.#open = undefined
    return [{ closed, index: this.#items.push(closed) - 1 }]
  }

  #current({ type, text }: Open, status: OutputMessage['status']): Growing {
    return this.#growing(type, (this.#known && textOf(this.#known.output[this.#items.length])) ?? text, status)
  }

  #growing(type: Growing['type'], text: string, status: OutputMessage['status']): Growing {
    const id = this.#nextId(type)
    if (type === 'reasoning') return { type, id, summary: [{ type: 'summary_text', text }] }
    return { type, id, status, role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }
  }

  #addCall({ id: callId, name, moduleId, arguments: args }: CallStep['call']): readonly Change[] {
    const closed = this.#close()
    const call: McpCall = {
      type: 'mcp_call',
      id: this.#nextId('mcp_call'),
      server_label: moduleId,
      name,
      arguments: JSON.stringify(args),
      output: null,
      error: null,
      status: 'in_progress',
      approval_request_id: null,
    }
    this.#openCalls.set(callId, { call, index: this.#items.length })
    return [...closed, this.#add(call)]
  }

  /** A call of an earlier response has no place here. */
  #answerCall({ callId, text, isError }: ResultStep['result']): readonly Change[] {
    const open = this.#openCalls.get(callId)
    if (!open) return NONE
    const { index, call } = open
    this.#openCalls.delete(callId)
    const result = isError ? { error: text, status: 'failed' as const } : { output: text, status: 'completed' as const }
    const answered: McpCall = { ...call, ...result }
    this.#items[index] = answered
    return [{ answered, index }]
  }

  /** Bytes of an image are an item; any other attachment is a link, which is a data URL where it has no address. */
  #addAttachment({ attachment }: AttachmentStep): readonly Change[] {
    const { mediaType, base64 } = attachment
    if (base64 === undefined || !mediaType.startsWith('image/')) {
      return this.#addText(attachmentToMarkdown(fromAttachmentJson(attachment)))
    }
    const type = 'image_generation_call'
    this.#hasAnswer = true
    return [...this.#close(), this.#add({ type, id: this.#nextId(type), status: 'completed', result: base64 })]
  }

  /** Adds a call that the run waits for. A question is no item of this API. */
  #addPending(pending: PendingCall): readonly Change[] {
    const closed = this.#close()
    const place = this.#pendingCalls++
    if (pending.kind === 'question') return closed
    this.#hasAnswer = true
    return [...closed, this.#add(this.#toItem(pending, place))]
  }

  #toItem(pending: PendingCall, place: number): FunctionCall | CustomToolCall | ApprovalRequest {
    if (pending.kind === 'client_tool') return this.#toClientCall(pending)
    const { name, arguments: args } = pending
    const called = { name, arguments: JSON.stringify(args) }
    return { type: 'mcp_approval_request', id: approvalId(this.#begun.id, place), server_label: name, ...called }
  }

  #toClientCall({ callId, name, client, arguments: args }: PendingCall): FunctionCall | CustomToolCall {
    const type = client?.isCustom ? 'custom_tool_call' : 'function_call'
    const { namespace } = client ?? {}
    const named = { name: client?.name ?? name, namespace }
    const [id, call_id, status] = [this.#nextId(type), callId, 'completed'] as const
    if (type === 'custom_tool_call') return { type, id, call_id, ...named, input: String(args.input), status }
    return { type, id, call_id, ...named, arguments: JSON.stringify(args), status }
  }

  /** Begins the answer again: what the previous attempt left open stays incomplete. */
  #restart(): readonly Change[] {
    const closed = this.#close(this.#form.isExtended ? 'incomplete' : 'completed')
    this.#openCalls.clear()
    this.#hasAnswer = false
    return closed
  }

  /** Ends the response. A completed one has a message, an empty one without text. */
  #end(step: EndStep): readonly Change[] {
    const changes = step.end === 'completed' ? this.#completeAnswer() : NONE
    // Items of `/compat` have two states: one that was cut off was in progress.
    const items = this.#listItems(this.#form.isExtended ? 'incomplete' : 'in_progress')
    const ended = endRecord(this.#ended ?? this.#begun, items, step, this.#form)
    const isCutOff = ended.status === 'completed' && ended.incomplete_details !== null
    if (isCutOff && this.#form.isExtended) ended.status = 'incomplete'
    this.#ended = ended
    return changes
  }

  #completeAnswer(): readonly Change[] {
    if (this.#hasAnswer) return this.#close('completed', 'final_answer')
    return [...this.#close(), this.#begin('message'), ...this.#close('completed', 'final_answer')]
  }

  #listItems(statusOfOpen: 'in_progress' | 'incomplete'): OutputItem[] {
    const items: OutputItem[] = []
    for (const item of this.#items) {
      items.push(item.type === 'mcp_call' && item.status === 'in_progress' ? { ...item, status: statusOfOpen } : item)
    }
    if (this.#open) items.push(this.#current(this.#open, statusOfOpen))
    return items
  }

  #nextId(type: Parameters<typeof outputItemId>[0]): string {
    return outputItemId(type, this.#begun.id, this.#items.length)
  }

  #add(added: Exclude<OutputItem, OutputMessage>): Change {
    return { added, index: this.#items.push(added) - 1 }
  }
}

/** Text of an item that grew by pieces. */
function textOf(item: OutputItem | undefined): string | undefined {
  if (item?.type === 'message') return item.content[0]?.text
  return item?.type === 'reasoning' ? item.summary[0]?.text : undefined
}

/** The record with this end. Completed items stay completed. */
function endRecord(
  record: ExtendedRecord,
  output: OutputItem[],
  { end, at, usage, error, code, incomplete }: EndStep,
  { isExtended }: RecordForm,
): ExtendedRecord {
  // Assigned: in Node 20, each field behind a spread takes up to 1 us.
  const ended = { ...record }
  ended.status = end
  ended.output = output
  ended.error = error === undefined ? null : { code: (isExtended ? code : undefined) ?? 'server_error', message: error }
  if (end === 'completed') ended.completed_at = at
  if (incomplete !== undefined) ended.incomplete_details = { reason: incomplete }
  if (usage) ended.usage = addTokenUsage(record.usage, usage)
  return ended
}
