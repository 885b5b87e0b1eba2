import { type AttachmentStep, type EndStep, isEnd, type Step } from '../../../../durable/runs/steps.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { toExtendedRecord } from '../routes/extended-record.ts'
import type {
  ApprovalRequest,
  FunctionCall,
  ImageCall,
  McpCall,
  OutputMessage,
  Reasoning,
  ResponseRecord,
} from '../routes/schema.ts'
import { endRecord, Output, renderAttachment } from './output.ts'

/** Form of the events on their way. */
export interface Framing {
  /** True in the dialect of the vendors. */
  readonly isExtended: boolean
  /** Text ahead of the JSON of an event. */
  readonly open: (type: string) => string
  /** Text behind it. */
  readonly close: string
  /** End of every stream. */
  readonly done: string
}

const DONE = 'data: [DONE]\n\n'
const COMPAT_STREAM: Framing = { isExtended: false, open: () => 'data: ', close: '\n\n', done: DONE }
const V1_STREAM: Framing = { ...COMPAT_STREAM, isExtended: true, open: (type) => `event: ${type}\ndata: ` }

/** One event a line, for the frames of a WebSocket. */
export const FRAMES: Framing = { isExtended: true, open: () => '', close: '\n', done: '' }

/** Server-sent events of a dialect. */
export function eventStreamOf({ isExtended }: Dialect): Framing {
  return isExtended ? V1_STREAM : COMPAT_STREAM
}

/**
 * The events of one response, written step by step. The same steps give the same events with the same numbers, whether
 * they are written while the response comes or long after.
 */
export class EventWriter {
  readonly #after: number
  readonly #output: Output
  readonly #framing: Framing
  readonly #deltaHead: string
  #record: ResponseRecord
  #sequence = 0
  #written = ''
  /** The fixed part of a delta of the message that is under way. */
  #delta = ''

  /**
   * @param begun the record as it was at the beginning
   * @param after number of the last event that the client has: only later ones are written
   */
  constructor(begun: ResponseRecord, after = 0, framing = COMPAT_STREAM) {
    this.#record = begun
    this.#after = after
    this.#output = new Output(begun.id)
    this.#framing = framing
    this.#deltaHead = this.#head('response.output_text.delta')
  }

  /** Text that ends every stream. */
  get done(): string {
    return this.#framing.done
  }

  /** The events that open every stream. */
  open(): string {
    const response = JSON.stringify(this.#record)
    this.#write('response.created', `"response":${response}`)
    this.#write('response.in_progress', `"response":${response}`)
    return this.#take()
  }

  /** The events of some further steps, whole ones. */
  write(steps: readonly Step[]): string {
    for (const step of steps) {
      if (typeof step === 'string') this.#text(step)
      else if (isEnd(step)) this.#end(step)
      else this.#step(step)
    }
    return this.#take()
  }

  /** The last events of a stream that breaks off, while the response itself may go on. */
  failure(message: string): string {
    this.#take()
    const sequence_number = Math.max(this.#sequence, this.#after) + 1
    const event = { type: 'error', sequence_number, code: 'server_error', message, param: null }
    const { open, close, done } = this.#framing
    return `${open('error')}${JSON.stringify(event)}${close}${done}`
  }

  #step(step: Exclude<Step, string | EndStep>): void {
    if ('acted' in step) return
    if ('restart' in step) this.#restart()
    else if ('reasoning' in step) this.#reasoning(step.reasoning)
    else if ('result' in step) this.#result(this.#output.closeCall(step.result))
    else if ('attachment' in step) this.#attachment(step)
    else {
      this.#close()
      const { index } = this.#output
      if ('call' in step) this.#call(index, this.#output.openCall(step.call))
      else this.#pending(index, this.#output.addPending(step.pending))
    }
  }

  #restart(): void {
    this.#close('incomplete')
    this.#output.restart()
  }

  #attachment(step: AttachmentStep): void {
    const rendered = renderAttachment(step)
    if ('text' in rendered) this.#text(rendered.text)
    else {
      this.#close()
      this.#image(this.#output.index, this.#output.addImage(rendered.image))
    }
  }

  #text(text: string): void {
    if (this.#output.open !== 'message') this.#openMessage()
    this.#output.addText(text)
    // By hand: most events are of this kind.
    if (++this.#sequence > this.#after) {
      this.#written += `${this.#deltaHead}${this.#sequence}${this.#delta}${JSON.stringify(text)}}${this.#framing.close}`
    }
  }

  #openMessage(): void {
    this.#close()
    const output_index = this.#output.index
    this.#output.addText('')
    const { id } = this.#output.current('in_progress')
    const item = { type: 'message', id, status: 'in_progress', role: 'assistant', content: [] }
    const part = { type: 'output_text', text: '', annotations: [] }
    this.#delta = `,"item_id":"${id}","output_index":${output_index},"content_index":0,"delta":`
    this.#writeFields('response.output_item.added', { output_index, item })
    this.#writeFields('response.content_part.added', { item_id: id, output_index, content_index: 0, part })
  }

  #reasoning(delta: string): void {
    if (this.#output.open !== 'reasoning') this.#openReasoning()
    const place = { item_id: this.#output.current('in_progress').id, output_index: this.#output.index }
    this.#output.addReasoning(delta)
    this.#writeFields('response.reasoning_summary_text.delta', { ...place, summary_index: 0, delta })
  }

  #openReasoning(): void {
    this.#close()
    const output_index = this.#output.index
    this.#output.addReasoning('')
    const { id } = this.#output.current('in_progress')
    const part = { type: 'summary_text', text: '' }
    this.#writeFields('response.output_item.added', { output_index, item: { type: 'reasoning', id, summary: [] } })
    this.#writeFields('response.reasoning_summary_part.added', { item_id: id, output_index, summary_index: 0, part })
  }

  /** Closes the item that is under way. */
  #close(status: OutputMessage['status'] = 'completed'): void {
    if (!this.#output.open) return
    const output_index = this.#output.index
    const item = this.#output.close(status)
    if (item.type === 'message') this.#closeMessage(output_index, item)
    else this.#closeReasoning(output_index, item)
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #closeMessage(output_index: number, { id, content: [part] }: OutputMessage): void {
    const place = { item_id: id, output_index, content_index: 0 }
    this.#writeFields('response.content_part.done', { ...place, part })
    this.#writeFields('response.output_text.done', { ...place, text: part?.text ?? '' })
  }

  #closeReasoning(output_index: number, { id, summary: [part] }: Reasoning): void {
    const place = { item_id: id, output_index, summary_index: 0 }
    this.#writeFields('response.reasoning_summary_text.done', { ...place, text: part?.text ?? '' })
    this.#writeFields('response.reasoning_summary_part.done', { ...place, part })
  }

  #pending(output_index: number, item: FunctionCall | ApprovalRequest | undefined): void {
    if (!item) return
    if (item.type === 'function_call') {
      const begun = { ...item, arguments: '', status: 'in_progress' }
      this.#writeFields('response.output_item.added', { output_index, item: begun })
      this.#arguments('function_call', output_index, item)
    } else this.#writeFields('response.output_item.added', { output_index, item })
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #call(output_index: number, item: McpCall): void {
    const place = { item_id: item.id, output_index }
    this.#writeFields('response.output_item.added', { output_index, item: { ...item, arguments: '' } })
    this.#writeFields('response.mcp_call.in_progress', place)
    this.#arguments('mcp_call', output_index, item)
  }

  #arguments(type: 'function_call' | 'mcp_call', output_index: number, item: FunctionCall | McpCall): void {
    const place = { item_id: item.id, output_index }
    const { name } = item
    this.#writeFields(`response.${type}_arguments.delta`, { ...place, delta: item.arguments })
    this.#writeFields(`response.${type}_arguments.done`, { ...place, name, arguments: item.arguments })
  }

  #result(closed: { item: McpCall; index: number } | undefined): void {
    if (!closed) return
    const { item, index: output_index } = closed
    this.#writeFields(`response.mcp_call.${item.status}`, { item_id: item.id, output_index })
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #image(output_index: number, item: ImageCall): void {
    const place = { item_id: item.id, output_index }
    const begun = { ...item, status: 'in_progress', result: null }
    this.#writeFields('response.output_item.added', { output_index, item: begun })
    this.#writeFields('response.image_generation_call.in_progress', place)
    this.#writeFields('response.image_generation_call.completed', place)
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #end(step: EndStep): void {
    if (step.end === 'completed') {
      this.#close()
      if (!this.#output.hasAnswer) this.#openMessage()
      this.#close()
    }
    this.#record = endRecord(this.#record, this.#output, step)
    const record = this.#framing.isExtended ? toExtendedRecord(this.#record) : this.#record
    this.#write(`response.${record.status}`, `"response":${JSON.stringify(record)}`)
  }

  #writeFields(type: string, fields: object): void {
    this.#write(type, JSON.stringify(fields).slice(1, -1))
  }

  #write(type: string, fields: string): void {
    const sequence = ++this.#sequence
    if (sequence <= this.#after) return
    this.#written += `${this.#head(type)}${sequence},${fields}}${this.#framing.close}`
  }

  /** An event up to its number. */
  #head(type: string): string {
    return `${this.#framing.open(type)}{"type":"${type}","sequence_number":`
  }

  #take(): string {
    const written = this.#written
    this.#written = ''
    return written
  }
}
