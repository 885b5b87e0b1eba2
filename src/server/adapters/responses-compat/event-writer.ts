import { type CallStep, type EndStep, isEnd, type Step } from '../../../durable/steps.ts'
import { COMPAT, type Dialect } from '../../dialect.ts'
import { toExtendedRecord } from './extended-record.ts'
import { endRecord, Output } from './output.ts'
import type { ResponseRecord } from './schema.ts'

/** The line that every stream ends with. */
export const DONE = 'data: [DONE]\n\n'

/**
 * The events of one response, written step by step. The same steps give the same events with the same numbers, whether
 * they are written while the response comes or long after.
 */
export class EventWriter {
  readonly #after: number
  readonly #output: Output
  readonly #isExtended: boolean
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
  constructor(begun: ResponseRecord, after = 0, { isExtended }: Dialect = COMPAT) {
    this.#record = begun
    this.#after = after
    this.#output = new Output(begun.id)
    this.#isExtended = isExtended
    this.#deltaHead = this.#head('response.output_text.delta')
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
      else {
        if (this.#output.isOpen) this.#closeMessage()
        this.#call(step)
      }
    }
    return this.#take()
  }

  /** The last events of a stream that breaks off, while the response itself may go on. */
  failure(message: string): string {
    this.#take()
    const sequence_number = Math.max(this.#sequence, this.#after) + 1
    const event = { type: 'error', sequence_number, code: 'server_error', message, param: null }
    return `${this.#isExtended ? 'event: error\n' : ''}data: ${JSON.stringify(event)}\n\n${DONE}`
  }

  #text(text: string): void {
    if (!this.#output.isOpen) this.#openMessage()
    this.#output.addText(text)
    // By hand: most events are of this kind.
    if (++this.#sequence > this.#after) {
      this.#written += `${this.#deltaHead}${this.#sequence}${this.#delta}${JSON.stringify(text)}}\n\n`
    }
  }

  #openMessage(): void {
    const output_index = this.#output.index
    const { id } = this.#output.message('in_progress')
    const item = { type: 'message', id, status: 'in_progress', role: 'assistant', content: [] }
    const part = { type: 'output_text', text: '', annotations: [] }
    this.#delta = `,"item_id":"${id}","output_index":${output_index},"content_index":0,"delta":`
    this.#writeFields('response.output_item.added', { output_index, item })
    this.#writeFields('response.content_part.added', { item_id: id, output_index, content_index: 0, part })
    this.#output.addText('')
  }

  #closeMessage(): void {
    const output_index = this.#output.index
    const item = this.#output.closeMessage()
    const [part] = item.content
    const place = { item_id: item.id, output_index, content_index: 0 }
    this.#writeFields('response.content_part.done', { ...place, part })
    this.#writeFields('response.output_text.done', { ...place, text: part?.text ?? '' })
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #call(step: CallStep): void {
    const output_index = this.#output.index
    const item = this.#output.addCall(step)
    const place = { item_id: item.id, output_index }
    const begun = { ...item, arguments: '', status: 'in_progress' }
    this.#writeFields('response.output_item.added', { output_index, item: begun })
    this.#writeFields('response.function_call_arguments.delta', { ...place, delta: item.arguments })
    this.#writeFields('response.function_call_arguments.done', {
      ...place,
      name: item.name,
      arguments: item.arguments,
    })
    this.#writeFields('response.output_item.done', { output_index, item })
  }

  #end(step: EndStep): void {
    if (step.end === 'completed') {
      if (!this.#output.hasMessage) this.#openMessage()
      if (this.#output.isOpen) this.#closeMessage()
    }
    this.#record = endRecord(this.#record, this.#output, step)
    const record = this.#isExtended ? toExtendedRecord(this.#record) : this.#record
    this.#write(`response.${record.status}`, `"response":${JSON.stringify(record)}`)
  }

  #writeFields(type: string, fields: object): void {
    this.#write(type, JSON.stringify(fields).slice(1, -1))
  }

  #write(type: string, fields: string): void {
    const sequence = ++this.#sequence
    if (sequence <= this.#after) return
    this.#written += `${this.#head(type)}${sequence},${fields}}\n\n`
  }

  /** An event up to its number. */
  #head(type: string): string {
    return `${this.#isExtended ? `event: ${type}\n` : ''}data: {"type":"${type}","sequence_number":`
  }

  #take(): string {
    const written = this.#written
    this.#written = ''
    return written
  }
}
