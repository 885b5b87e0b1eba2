import { HostError } from '../../../errors.ts'
import type { Message } from '../../../protocols/message.ts'
import type { Change, RecordStore } from '../../../store/record-store.ts'
import {
  type Conversation,
  detach,
  linkChanges,
  loadConversation,
  loadTurn,
  makeTurn,
  removeForgottenTurns,
  type Turn,
  turnKey,
  withAnswer,
} from './conversations.ts'
import { type IdempotentRequest, requestChanges, requestKey } from './idempotency.ts'
import {
  type EndStep,
  isEnd,
  type PackedStep,
  packSteps,
  recordAfter,
  type Step,
  textOf,
  unpackSteps,
} from './output.ts'
import type { InputItem, ResponseRecord } from './schema.ts'

/** A response as it is stored. It is there when this row is: everything else is written before it, or with it. */
interface Row {
  readonly response: ResponseRecord
  readonly steps: readonly PackedStep[]
  readonly inputs: number
  /** The input items when they are few and short; others have rows of their own. */
  readonly items?: readonly InputItem[]
  /** Of the request that made it. */
  readonly idempotency?: string
}

/** A response that is about to be stored. */
export interface Draft {
  readonly record: ResponseRecord
  readonly items: readonly InputItem[]
  readonly turn: Turn
  /** What was said before this turn. */
  readonly earlier: readonly Message[]
  readonly idempotency: IdempotentRequest | undefined
}

/** A response that was read. */
export interface Stored {
  /** As it is now; of a response that runs, with what was said so far. */
  readonly record: ResponseRecord
  /** As it was when it began. */
  readonly begun: ResponseRecord
  readonly steps: readonly Step[]
  readonly inputs: number
  readonly items: readonly InputItem[] | undefined
}

/** What of a response stays the same while it runs. */
export interface PersistedRun {
  readonly row: Omit<Row, 'response' | 'steps'>
  readonly turn: Turn
}

const ITEMS_PER_ROW = 50
/** Items longer than this, together, are not in the row of the response: whoever reads that need not read them. */
const MAX_ITEMS_LENGTH = 4096

export const RESPONSES = 'response:'
export const RUNNING = 'running:'

/** Responses with their input items, their part of the conversation and their steps, in a store of records. */
export class ResponseStore {
  readonly records: RecordStore

  constructor(records: RecordStore) {
    this.records = records
  }

  conversation(responseId: string): Promise<Conversation | undefined> {
    return loadConversation(this.records, responseId)
  }

  /**
   * Stores a response that runs, or one that has ended already, for the first time.
   *
   * @returns what was stored; undefined when another request with the same idempotency key was first
   */
  async create(draft: Draft, steps: readonly Step[]): Promise<PersistedRun | undefined> {
    const { turn, earlier, idempotency } = draft
    const previous = turn.previous_response_id
    const absent = idempotency ? [requestKey(idempotency.hash)] : []
    const present = previous === null ? [] : [turnKey(previous)]
    const { row, itemRows } = describeRow(draft)
    const create = (turn: Turn) => this.#creation(draft, itemRows, { row, turn }, steps)
    if (await this.records.commit(create(turn), { present, absent })) return { row, turn }
    if (previous === null || (await loadTurn(this.records, previous))) return undefined
    // The response that this one continues was deleted meanwhile: what was said there belongs to this one now.
    const alone = detach(turn, earlier)
    return (await this.records.commit(create(alone), { absent })) ? { row, turn: alone } : undefined
  }

  #creation(
    { record, idempotency }: Draft,
    itemRows: readonly Change[],
    { row, turn }: PersistedRun,
    steps: readonly Step[],
  ): Change[] {
    const { id } = record
    const hasEnded = isEnd(steps.at(-1))
    return [
      ...itemRows,
      ...linkChanges(turn),
      ...(idempotency ? requestChanges(idempotency, id) : []),
      ...(hasEnded ? [] : [[runningKey(id), JSON.stringify({ server: this.records.serverId })] as const]),
      ...(hasEnded || steps.length === 0 ? [] : [stepsChange(id, 0, steps)]),
      ...(hasEnded
        ? this.#ended(row, record, turn, steps)
        : [turnChange(turn), rowChange({ ...row, response: record, steps: [] })]),
    ]
  }

  /**
   * Adds steps to a response that runs.
   *
   * @param batch how many times that was done before, counting from the creation
   * @returns false when it does not run any more: it was cancelled or deleted
   */
  append(id: string, batch: number, steps: readonly Step[]): Promise<boolean> {
    return this.records.commit([stepsChange(id, batch, steps)], { present: [runningKey(id)] })
  }

  /**
   * Ends a response that runs.
   *
   * @param steps all of them, the end last
   * @param batches in how many they are stored so far
   * @returns false when it does not run any more
   */
  finish(
    begun: ResponseRecord,
    { row, turn }: PersistedRun,
    steps: readonly Step[],
    batches: number,
  ): Promise<boolean> {
    const { id } = begun
    const temporary = [runningKey(id), ...Array.from({ length: batches }, (_, batch) => stepsKey(id, batch))]
    const removals = temporary.map((key): Change => [key, undefined])
    return this.records.commit([...this.#ended(row, begun, turn, steps), ...removals], { present: [runningKey(id)] })
  }

  #ended(row: PersistedRun['row'], begun: ResponseRecord, turn: Turn, steps: readonly Step[]): Change[] {
    const response = recordAfter(begun, steps)
    return [turnChange(withAnswer(turn, textOf(steps))), rowChange({ ...row, response, steps: packSteps(steps) })]
  }

  async get(id: string): Promise<Stored | undefined> {
    const row = await this.#row(id)
    if (!row) return undefined
    const { response, inputs, items } = row
    if (response.status !== 'in_progress') {
      const steps = unpackSteps(row.steps, response.output)
      return { record: response, begun: beginningOf(response), steps, inputs, items }
    }
    const { steps } = await this.#loggedSteps(id)
    // It may have ended between the two reads, and its batches be gone.
    if (steps.length === 0 && (await this.#row(id))?.response.status !== 'in_progress') return this.get(id)
    return { record: recordAfter(response, steps), begun: response, steps, inputs, items }
  }

  async #loggedSteps(id: string): Promise<{ steps: Step[]; batches: number }> {
    const keys = await this.records.list({ prefix: stepsPrefix(id), limit: MAX_BATCHES })
    const batches = await this.records.get(keys)
    const steps = batches.flatMap((text) => (text === undefined ? [] : (JSON.parse(text) as Step[])))
    return { steps, batches: keys.length }
  }

  /**
   * Ends a response on behalf of whoever ran it, or cancels one that has ended.
   *
   * @returns the record as it is then; undefined when there is none
   */
  async end(id: string, end: EndStep): Promise<ResponseRecord | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [row, turn] = await Promise.all([this.#row(id), loadTurn(this.records, id)])
      if (!row || !turn) return undefined
      const { response } = row
      const done = response.status === 'in_progress' ? this.#endRunning(row, turn, end) : this.#endAgain(row, end)
      const record = await done
      // Otherwise whoever runs it was quicker: look again.
      if (record) return record
    }
    throw new HostError('STORE_UNAVAILABLE', `The response ${id} could not be ended: it changes all the time.`)
  }

  async #endRunning({ response, steps: _none, ...row }: Row, turn: Turn, end: EndStep) {
    const { steps, batches } = await this.#loggedSteps(response.id)
    const all = [...steps, end]
    return (await this.finish(response, { row, turn }, all, batches)) ? recordAfter(response, all) : undefined
  }

  async #endAgain(row: Row, end: EndStep): Promise<ResponseRecord | undefined> {
    const { response } = row
    const all = [...unpackSteps(row.steps, response.output), end]
    const record = recordAfter(beginningOf(response), all)
    const changed = rowChange({ ...row, response: record, steps: packSteps(all) })
    return (await this.records.commit([changed], { present: [rowKey(record.id)] })) ? record : undefined
  }

  /** @returns the items from one index (inclusive) to another (exclusive), oldest first */
  async items(id: string, { items }: Stored, from: number, to: number): Promise<InputItem[]> {
    if (items) return items.slice(from, to)
    const first = Math.floor(from / ITEMS_PER_ROW)
    const keys = []
    for (let row = first; row * ITEMS_PER_ROW < to; row++) keys.push(itemsKey(id, row))
    const rows = await this.records.get(keys)
    const read = rows.flatMap((text) => (text === undefined ? [] : (JSON.parse(text) as InputItem[])))
    return read.slice(from - first * ITEMS_PER_ROW, to - first * ITEMS_PER_ROW)
  }

  /** @returns false when there is none */
  async delete(id: string): Promise<boolean> {
    const row = await this.#row(id)
    if (!row) return false
    const itemRows = row.items ? 0 : Math.ceil(row.inputs / ITEMS_PER_ROW)
    const batches = await this.records.list({ prefix: stepsPrefix(id), limit: MAX_BATCHES })
    const keys = [
      rowKey(id),
      runningKey(id),
      ...Array.from({ length: itemRows }, (_, index) => itemsKey(id, index)),
      ...batches,
      ...(row.idempotency === undefined ? [] : [requestKey(row.idempotency)]),
    ]
    const removed = await this.records.commit(
      keys.map((key): Change => [key, undefined]),
      { present: [rowKey(id)] },
    )
    if (removed) await this.removeForgottenTurns(id)
    return removed
  }

  /** What was said in a response that is gone is kept only where another one continues it. */
  async removeForgottenTurns(id: string): Promise<void> {
    await removeForgottenTurns(this.records, id, async (other) => (await this.#row(other)) !== undefined)
  }

  async #row(id: string): Promise<Row | undefined> {
    const [text] = await this.records.get([rowKey(id)])
    return text === undefined ? undefined : (JSON.parse(text) as Row)
  }
}

/** A turn and the record of a response that is about to begin. */
export function draftTurn(
  record: ResponseRecord,
  messages: readonly Message[],
  conversation: Conversation | undefined,
) {
  return makeTurn(record.id, record.created_at, messages, conversation?.last)
}

/** How often something is tried that others may prevent by being quicker. */
const MAX_ATTEMPTS = 10
/** More than any response has. */
const MAX_BATCHES = 1_000_000

function rowKey(id: string): string {
  return RESPONSES + id
}

export function runningKey(id: string): string {
  return RUNNING + id
}

function itemsKey(id: string, row: number): string {
  return `items:${id}:${row}`
}

function stepsPrefix(id: string): string {
  return `steps:${id}:`
}

/** In the order of the batches: keys are compared as texts. */
function stepsKey(id: string, batch: number): string {
  return `${stepsPrefix(id)}${String(batch).padStart(9, '0')}`
}

function stepsChange(id: string, batch: number, steps: readonly Step[]): Change {
  return [stepsKey(id, batch), JSON.stringify(steps)]
}

function turnChange(turn: Turn): Change {
  return [turnKey(turn.response_id), JSON.stringify(turn)]
}

function rowChange(row: Row): Change {
  return [rowKey(row.response.id), JSON.stringify(row)]
}

function describeRow({ record, items, idempotency }: Draft): { row: PersistedRun['row']; itemRows: Change[] } {
  const row = { inputs: items.length, ...(idempotency ? { idempotency: idempotency.hash } : {}) }
  const isShort = items.length <= ITEMS_PER_ROW && JSON.stringify(items).length <= MAX_ITEMS_LENGTH
  if (isShort) return { row: { ...row, items }, itemRows: [] }
  const itemRows: Change[] = []
  for (let start = 0; start < items.length; start += ITEMS_PER_ROW) {
    itemRows.push([itemsKey(record.id, itemRows.length), JSON.stringify(items.slice(start, start + ITEMS_PER_ROW))])
  }
  return { row, itemRows }
}

/** What its steps have made of a record, taken back. */
function beginningOf(record: ResponseRecord): ResponseRecord {
  const usage = {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  }
  return {
    ...record,
    status: 'in_progress',
    completed_at: null,
    output: [],
    error: null,
    incomplete_details: null,
    usage,
  }
}
