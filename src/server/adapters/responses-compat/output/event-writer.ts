import { isEnd, type Step } from '../../../../durable/runs/steps.ts'
import { spendLength } from '../../../../json.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { jsonPieces, PIECE_LENGTH } from '../../../streams/json-pieces.ts'
import type { ExtendedRecord, OutputItem, ResponseRecord } from '../routes/schema.ts'
import { type Change, Output } from './output.ts'

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
  /** True where an event may be sent in several pieces. */
  readonly isPiecewise: boolean
}

const DONE = 'data: [DONE]\n\n'
const COMPAT_STREAM: Framing = { isExtended: false, open: () => 'data: ', close: '\n\n', done: DONE, isPiecewise: true }
const V1_STREAM: Framing = { ...COMPAT_STREAM, isExtended: true, open: (type) => `event: ${type}\ndata: ` }

/** One event a line, for the frames of a WebSocket. */
export const FRAMES: Framing = { isExtended: true, open: () => '', close: '\n', done: '', isPiecewise: false }

/** Server-sent events of a dialect. */
export function eventStreamOf({ isExtended }: Dialect): Framing {
  return isExtended ? V1_STREAM : COMPAT_STREAM
}

/**
 * The events of one response: prints the changes of its output. The same steps give the same events with the same numbers, whether
 * they are written while the response comes or long after.
 */
export class EventWriter {
  readonly #begun: ResponseRecord
  readonly #after: number
  readonly #output: Output
  readonly #framing: Framing
  readonly #deltaHead: string
  #sequence = 0
  #written = ''
  /** Length by which the texts so far may grow: beyond it, events are written in pieces. */
  #left: number
  /** Large events before `#written`: each gives its pieces. */
  #large: (() => Iterable<string>)[] = []
  /** Place of the open item. */
  #place: Place = { item_id: '', output_index: 0 }
  /** The fixed part of a delta of the open message. */
  #delta = ''

  /**
   * @param begun the record as it was at the beginning
   * @param after number of the last event that the client has: only later ones are written
   * @param known see `Output`
   */
  constructor(begun: ResponseRecord, after = 0, framing = COMPAT_STREAM, known?: ExtendedRecord) {
    this.#begun = begun
    this.#after = after
    this.#output = new Output(begun, framing, known)
    this.#left = spendLength(begun, PIECE_LENGTH)
    this.#framing = framing
    this.#deltaHead = this.#head('output_text.delta')
  }

  /** Text that ends every stream. */
  get done(): string {
    return this.#framing.done
  }

  /** The events that open every stream, in pieces. */
  *open(): Generator<string> {
    const { output } = this.#begun
    const response = output.length === 0 ? this.#begun : { ...this.#begun, output: [] }
    // Made once for both events, unless it is large.
    const fields = this.#left < 0 ? { response } : `"response":${JSON.stringify(response)}}`
    this.#write('created', fields)
    this.#write('in_progress', fields)
    for (const [index, item] of output.entries()) if (item.type === 'compaction') this.#added(item, index)
    if (this.#large.length > 0) yield* this.#takeLarge()
    if (this.#written !== '') yield this.#take()
  }

  /** The events of some further steps, in pieces: of a large response no more than one is there at a time. */
  *write(steps: readonly Step[]): Generator<string> {
    for (const step of steps) {
      this.#left = spendLength(step, this.#left)
      this.#output.apply(step).forEach(this.#print, this)
      if (isEnd(step)) this.#end()
      if (this.#large.length > 0) yield* this.#takeLarge()
      if (this.#written.length >= PIECE_LENGTH) yield this.#take()
    }
    if (this.#written !== '') yield this.#take()
  }

  /** The last events of a stream that breaks off, while the response itself may go on. */
  failure(message: string): string {
    this.#written = ''
    const sequence_number = Math.max(this.#sequence, this.#after) + 1
    const event = { type: 'error', sequence_number, code: 'server_error', message, param: null }
    const { open, close, done } = this.#framing
    return `${open('error')}${JSON.stringify(event)}${close}${done}`
  }

  #print(change: Change): void {
    if (typeof change === 'string') this.#text(change)
    else if ('reasoning' in change) this.#reasoning(change.reasoning)
    else if ('opened' in change) this.#opened(change.opened, change.index)
    else if ('closed' in change) this.#closed(change.closed, change.index)
    else if ('added' in change) this.#added(change.added, change.index)
    else this.#answered(change.answered, change.index)
  }

  /** By hand: most events are of this kind. */
  #text(text: string): void {
    if (text.length > PIECE_LENGTH) this.#write('output_text.delta', { ...this.#place, content_index: 0, delta: text })
    else if (++this.#sequence > this.#after) {
      this.#written += `${this.#deltaHead}${this.#sequence}${this.#delta}${JSON.stringify(text)}}${this.#framing.close}`
    }
  }

  #reasoning(delta: string): void {
    this.#write('reasoning_summary_text.delta', { ...this.#place, summary_index: 0, delta })
  }

  #opened(opened: Growing, output_index: number): void {
    const { id, type } = opened
    const { list, part } = WORDS[type]
    this.#place = { item_id: id, output_index }
    this.#delta = `,"item_id":"${id}","output_index":${output_index},"content_index":0,"delta":`
    this.#write('output_item.added', { output_index, item: { ...opened, [list]: [] } })
    this.#write(`${part}.added`, { ...this.#place, [`${list}_index`]: 0, part: partOf(opened) })
  }

  #closed(item: Growing, output_index: number): void {
    const { list, part: name, text } = WORDS[item.type]
    const [place, part] = [{ ...this.#place, [`${list}_index`]: 0 }, partOf(item)]
    if (item.type === 'message') this.#write(`${name}.done`, { ...place, part })
    this.#write(`${text}.done`, { ...place, text: part?.text ?? '' })
    if (item.type === 'reasoning') this.#write(`${name}.done`, { ...place, part })
    this.#write('output_item.done', { output_index, item })
  }

  #added(item: Whole, output_index: number): void {
    const place = { item_id: item.id, output_index }
    this.#write('output_item.added', { output_index, item: toBegun(item) })
    if (item.type === 'mcp_call') this.#write('mcp_call.in_progress', place)
    if (item.type === 'mcp_call' || item.type === 'function_call') this.#arguments(place, item)
    if (item.type === 'custom_tool_call') {
      this.#write('custom_tool_call_input.delta', { ...place, delta: item.input })
      this.#write('custom_tool_call_input.done', { ...place, input: item.input })
    }
    if (item.type === 'image_generation_call') {
      this.#write('image_generation_call.in_progress', place)
      this.#write('image_generation_call.completed', place)
    }
    if (item.type === 'compaction') this.#write('compaction.compacting', place)
    // An own call is done with its result.
    if (item.type !== 'mcp_call') this.#write('output_item.done', { output_index, item })
  }

  #arguments(place: Place, { type, name, arguments: args }: CallItem): void {
    this.#write(`${type}_arguments.delta`, { ...place, delta: args })
    this.#write(`${type}_arguments.done`, { ...place, name, arguments: args })
  }

  #answered(item: Answered, output_index: number): void {
    this.#write(`mcp_call.${item.status}`, { item_id: item.id, output_index })
    this.#write('output_item.done', { output_index, item })
  }

  #end(): void {
    const { record } = this.#output
    this.#write(record.status, { response: record })
  }

  /**
   * @param type of the event, behind `response.`
   * @param fields of the event; a text is their JSON from the first name on
   */
  #write(type: string, fields: object | string): void {
    const sequence = ++this.#sequence
    if (sequence <= this.#after) return
    if (this.#left < 0 && typeof fields === 'object') this.#writeLarge(type, sequence, fields)
    else this.#written += this.#event(type, sequence, fields)
  }

  #event(type: string, sequence: number, fields: object | string): string {
    const json = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1)
    return `${this.#head(type)}${sequence},${json}${this.#framing.close}`
  }

  /** Writes an event that may be large, once it is its turn. */
  #writeLarge(type: string, sequence: number, fields: object): void {
    const written = this.#take()
    const { close, isPiecewise } = this.#framing
    const head = `${written}${this.#head(type)}${sequence},`
    this.#large.push(
      isPiecewise ? () => eventPieces(head, fields, close) : () => [written + this.#event(type, sequence, fields)],
    )
  }

  /** An event up to its number. */
  #head(name: string): string {
    const type = `response.${name}`
    return `${this.#framing.open(type)}{"type":"${type}","sequence_number":`
  }

  *#takeLarge(): Generator<string> {
    const large = this.#large
    this.#large = []
    for (const pieces of large) yield* pieces()
  }

  #take(): string {
    const written = this.#written
    this.#written = ''
    return written
  }
}

function* eventPieces(head: string, fields: object, close: string): Generator<string> {
  yield head
  let isFirst = true
  for (const piece of jsonPieces(fields)) {
    yield isFirst ? piece.slice(1) : piece
    isFirst = false
  }
  yield close
}

interface Place {
  readonly item_id: string
  readonly output_index: number
}

type Growing = Extract<Change, { opened: unknown }>['opened']
type Whole = Extract<Change, { added: unknown }>['added']
type Answered = Extract<Change, { answered: unknown }>['answered']
type CallItem = Extract<OutputItem, { type: 'function_call' | 'mcp_call' }>

/** Words of the events of an item that grows: the list of its parts, a part, and the text of a part. */
const WORDS = {
  message: { list: 'content', part: 'content_part', text: 'output_text' },
  reasoning: { list: 'summary', part: 'reasoning_summary_part', text: 'reasoning_summary_text' },
} as const

/** It has one part. */
function partOf(item: Growing) {
  return item.type === 'message' ? item.content[0] : item.summary[0]
}

/** An item as it is when it begins. */
function toBegun(item: Whole): object {
  if (item.type === 'mcp_call') return { ...item, arguments: '' }
  if (item.type === 'function_call') return { ...item, arguments: '', status: 'in_progress' }
  if (item.type === 'custom_tool_call') return { ...item, input: '', status: 'in_progress' }
  return item.type === 'image_generation_call' ? { ...item, status: 'in_progress', result: null } : item
}
