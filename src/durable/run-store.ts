import { HostError } from '../errors.ts'
import type { Message } from '../protocols/message.ts'
import { appendLog, readLog, removeLog } from '../store/record-log.ts'
import type { Change, Guards, RecordStore } from '../store/record-store.ts'
import type { Claim } from './approvals.ts'
import {
  type Conversation,
  detach,
  type LoadOptions,
  linkChanges,
  loadConversation,
  loadTurn,
  removeForgottenTurns,
  type StoredTurn,
  type TurnOutcome,
  turnChange,
  turnKey,
  withOutcome,
  withText,
} from './conversation-tree.ts'
import { type IdempotentRequest, requestChanges, requestKey, requestKeys } from './idempotency.ts'
import { parseRow, ROW_VERSION } from './parse-row.ts'
import {
  type EndStep,
  isEnd,
  nowSeconds,
  type PackedSteps,
  packSteps,
  type Step,
  textOf,
  unpackSteps,
} from './steps.ts'

/** Row of a run. The run is there when this row is: everything else is written before it, or with it. */
export interface RunRow<Facts, Item> extends PackedSteps {
  readonly version: number
  readonly id: string
  /** Facts of whoever started the run, as JSON; not read here. */
  readonly facts: Facts
  readonly inputs: number
  /** Input items when they are few and short; others have rows of their own. */
  readonly items?: readonly Item[]
  /** Request that the run answers; a row of the first version knows only its hash. */
  readonly idempotency?: Pick<IdempotentRequest, 'hash'> & Partial<Pick<IdempotentRequest, 'atMs'>>
}

/** Run that is about to be stored. */
export interface Draft<Facts, Item> {
  readonly id: string
  readonly facts: Facts
  readonly items: readonly Item[]
  readonly turn: StoredTurn
  /** Messages before this turn. */
  readonly earlier: readonly Message[]
  readonly idempotency: IdempotentRequest | undefined
  /** Decisions with which the run goes on, or the conversation that it is added to: it is created only where nobody else was quicker. */
  readonly claim?: Claim | undefined
}

/** Run as it was read. */
export interface StoredRun<Facts, Item> {
  readonly id: string
  readonly facts: Facts
  /** All so far; the last is the end unless the run is still going. */
  readonly steps: readonly Step[]
  readonly inputs: number
  readonly items: readonly Item[] | undefined
  /** Number of batches in which the steps of a run that goes on are stored. */
  readonly batches: number
}

/** Parts of a stored run that stay the same while it goes on. */
export interface PersistedRun<Facts, Item> {
  readonly row: Omit<RunRow<Facts, Item>, keyof PackedSteps>
  readonly turn: StoredTurn
}

/** End of a run, with all that is stored of it. */
export interface Ending {
  /** All of them, the end last. */
  readonly steps: readonly Step[]
  /** Number of batches in which they are stored so far. */
  readonly batches?: number
  /** Undefined for a run that was broken off. */
  readonly outcome?: TurnOutcome | undefined
}

export interface RunStoreOptions<Facts, Item> {
  /** Reads a row of the first version, which held the record of one client protocol. */
  readonly upgradeRow: (row: unknown) => RunRow<Facts, Item>
}

export interface RunRange {
  readonly limit: number
  readonly order?: 'asc' | 'desc'
  /** Exclusive. */
  readonly after?: string | undefined
  /** Exclusive. */
  readonly before?: string | undefined
}

const ITEMS_PER_ROW = 50
/** Items longer than this, together, are not in the row of the run: whoever reads that need not read them. */
const MAX_ITEMS_LENGTH = 4096
/** Number of attempts at a write that others may prevent by being quicker. */
const MAX_ATTEMPTS = 10
/** More than any run has. */
const MAX_BATCHES = 1_000_000

const RUNS = 'response:'
const RUNNING = 'running:'

/** Runs with their input items, their part of the conversation and their steps, in a store of records. */
export class RunStore<Facts, Item> {
  readonly #records: RecordStore
  readonly #options: RunStoreOptions<Facts, Item>
  /** Mark of a run of this server. */
  readonly #mark: string

  constructor(records: RecordStore, options: RunStoreOptions<Facts, Item>) {
    this.#records = records
    this.#mark = JSON.stringify({ server: records.serverId })
    this.#options = options
  }

  conversation(id: string, options?: LoadOptions): Promise<Conversation | undefined> {
    return loadConversation(this.#records, id, options)
  }

  /**
   * Stores a run for the first time: one that goes on, or one that has ended already.
   *
   * @returns the stored parts; undefined when another request with the same idempotency key was first
   */
  async create(
    draft: Draft<Facts, Item>,
    steps: readonly Step[],
    outcome?: TurnOutcome,
  ): Promise<PersistedRun<Facts, Item> | undefined> {
    const { turn, earlier, idempotency, claim } = draft
    const equal = claim?.equal ?? []
    const previous = turn.previous_response_id
    const absent = idempotency ? [requestKey(idempotency.hash)] : []
    const present = previous === null ? [] : [turnKey(previous)]
    const { row, itemRows } = describeRow(draft)
    const create = (turn: StoredTurn) => this.#creation(draft, itemRows, { row, turn }, steps, outcome)
    if (await this.#records.commit(create(turn), { present, absent, equal })) return { row, turn }
    if (previous === null || (await loadTurn(this.#records, previous))) return undefined
    // The run that this one continues was deleted meanwhile: what was said there belongs to this one now.
    const alone = detach(turn, earlier)
    return (await this.#records.commit(create(alone), { absent, equal })) ? { row, turn: alone } : undefined
  }

  #creation(
    { id, idempotency, claim }: Draft<Facts, Item>,
    itemRows: readonly Change[],
    { row, turn }: PersistedRun<Facts, Item>,
    steps: readonly Step[],
    outcome: TurnOutcome | undefined,
  ): Change[] {
    const hasEnded = isEnd(steps.at(-1))
    return [
      ...itemRows,
      ...linkChanges(turn),
      ...(idempotency ? requestChanges(idempotency, id) : []),
      ...(claim?.changes ?? []),
      ...(hasEnded ? [] : [[runningKey(id), this.#mark] as const]),
      ...(hasEnded || steps.length === 0 ? [] : [appendLog(stepsLog(id), 0, JSON.stringify(steps))]),
      ...(hasEnded
        ? endChanges({ row, turn }, { steps, outcome })
        : [turnChange(turn), rowChange({ ...row, text: '', steps: [] })]),
    ]
  }

  /**
   * Adds steps to a run of this server.
   *
   * @param batch how many times that was done before, counting from the creation
   * @returns false when it is not this server's any more: it was cancelled, deleted, or ended by another
   */
  append(id: string, batch: number, steps: readonly Step[]): Promise<boolean> {
    const entry = appendLog(stepsLog(id), batch, JSON.stringify(steps))
    return this.#records.commit([entry], this.#ownedGuards(id), [changeTopic(id)])
  }

  /**
   * Ends a run of this server.
   *
   * @returns false when it is not this server's any more
   */
  finish(run: PersistedRun<Facts, Item>, ending: Ending): Promise<boolean> {
    return this.#finish(run, ending, this.#ownedGuards(run.row.id), [changeTopic(run.row.id)])
  }

  #finish(
    run: PersistedRun<Facts, Item>,
    { batches = 0, ...ending }: Ending,
    guards: Guards,
    notify: readonly string[],
  ): Promise<boolean> {
    const { id } = run.row
    const log = stepsLog(id)
    const removals: Change[] = [[runningKey(id), undefined], ...removeLog(log, batches)]
    const absent = [appendLog(log, batches, '')[0]]
    return this.#records.commit([...endChanges(run, ending), ...removals], { ...guards, absent }, notify)
  }

  /** A server that was paused, and whose run was ended or given to another meanwhile, writes nothing. */
  #ownedGuards(id: string): Guards {
    return { equal: [[runningKey(id), this.#mark]] }
  }

  /** @throws HostError `RECORD_UNREADABLE` */
  async get(id: string): Promise<StoredRun<Facts, Item> | undefined> {
    const row = await this.#row(id)
    if (!row) return undefined
    const { facts, inputs, items } = row
    if (isEnd(lastOf(row))) return { id, facts, steps: unpackSteps(row), inputs, items, batches: 0 }
    const { steps, batches } = await this.readSteps(id)
    // It may have ended between the two reads, and its batches be gone.
    if (steps.length === 0 && (await this.#hasEnded(id))) return this.get(id)
    return { id, facts, steps, inputs, items, batches }
  }

  async #hasEnded(id: string): Promise<boolean> {
    const row = await this.#row(id)
    return row === undefined || isEnd(lastOf(row))
  }

  /**
   * Reads steps of a run that goes on.
   *
   * @param from number of the first batch wanted
   */
  async readSteps(id: string, from = 0): Promise<{ steps: Step[]; batches: number }> {
    const entries = await readLog(this.#records, stepsLog(id), from)
    return { steps: entries.flatMap((entry) => JSON.parse(entry) as Step[]), batches: entries.length }
  }

  /**
   * Calls back when steps of a run are stored, or it ends.
   *
   * @returns a function that ends it
   */
  watchSteps(id: string, onNotice: () => void): () => void {
    return this.#records.watch([changeTopic(id)], onNotice)
  }

  /** Calls back when another request may have ended or deleted a run. */
  watchOutcome(id: string, onNotice: () => void): () => void {
    return this.#records.watch([outcomeTopic(id)], onNotice)
  }

  /**
   * Ends a run on behalf of whoever ran it. One that has ended stays as it is.
   *
   * @returns the run as it is then; undefined when there is none
   */
  async end(id: string, end: EndStep): Promise<StoredRun<Facts, Item> | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [row, turn] = await Promise.all([this.#row(id), loadTurn(this.#records, id)])
      if (!row || !turn) return undefined
      const { steps: _none, text: _noText, ...persisted } = row
      if (isEnd(lastOf(row))) return this.get(id)
      const { steps, batches } = await this.readSteps(id)
      const run = { row: persisted, turn }
      const guards = { present: [runningKey(id)] }
      // Otherwise whoever runs it was quicker: look again.
      if (await this.#finish(run, { steps: [...steps, end], batches }, guards, topicsOf(id))) return this.get(id)
    }
    throw new HostError('STORE_UNAVAILABLE', `The run ${id} could not be ended: it changes all the time.`)
  }

  /** Cancels a run, also one that has ended: it keeps its steps. */
  async cancel(id: string): Promise<StoredRun<Facts, Item> | undefined> {
    const end: EndStep = { end: 'cancelled', at: nowSeconds() }
    const ended = await this.end(id, end)
    const last = ended?.steps.at(-1)
    if (!ended || (isEnd(last) && last.end === 'cancelled')) return ended
    const row = await this.#row(id)
    const changed = row && rowChange({ ...row, ...packSteps([...ended.steps, end]) })
    if (!changed || !(await this.#records.commit([changed], { present: [rowKey(id)] }))) return undefined
    return { ...ended, steps: [...ended.steps, end] }
  }

  /** @returns the items from one index (inclusive) to another (exclusive), oldest first */
  async items({ id, items }: StoredRun<Facts, Item>, from: number, to: number): Promise<Item[]> {
    if (items) return items.slice(from, to)
    const first = Math.floor(from / ITEMS_PER_ROW)
    const keys = []
    for (let row = first; row * ITEMS_PER_ROW < to; row++) keys.push(itemsKey(id, row))
    const rows = await this.#records.get(keys)
    const read = rows.flatMap((text) => (text === undefined ? [] : (JSON.parse(text) as Item[])))
    return read.slice(from - first * ITEMS_PER_ROW, to - first * ITEMS_PER_ROW)
  }

  /** @returns false when there is none */
  async delete(id: string): Promise<boolean> {
    const row = await this.#row(id)
    if (!row) return false
    const itemRows = row.items ? 0 : Math.ceil(row.inputs / ITEMS_PER_ROW)
    const batches = await this.#records.list({ prefix: `${stepsLog(id)}:`, limit: MAX_BATCHES })
    const keys = [
      rowKey(id),
      runningKey(id),
      ...Array.from({ length: itemRows }, (_, index) => itemsKey(id, index)),
      ...batches,
      ...(row.idempotency ? keysOfRequest(row.idempotency) : []),
    ]
    const removed = await this.#records.commit(
      keys.map((key): Change => [key, undefined]),
      { present: [rowKey(id)] },
      topicsOf(id),
    )
    if (removed) await removeForgottenTurns(this.#records, id, (other) => this.has(other))
    return removed
  }

  async has(id: string): Promise<boolean> {
    return (await this.#records.get([rowKey(id)]))[0] !== undefined
  }

  /** Ids of the stored runs. */
  list(range: RunRange): Promise<string[]> {
    return this.#listIds(RUNS, range)
  }

  /** Runs that go on, with the server that runs each; undefined for a mark that cannot be read. */
  async listRunning(): Promise<Map<string, string | undefined>> {
    const ids = await this.#listIds(RUNNING, { limit: MAX_BATCHES })
    const marks = await this.#records.get(ids.map(runningKey))
    return new Map(ids.flatMap((id, index) => (marks[index] === undefined ? [] : [[id, serverOf(marks[index])]])))
  }

  /** Those of the runs that are not this server's any more: ended, deleted, or given to another. */
  async filterLost(ids: readonly string[]): Promise<string[]> {
    const marks = await this.#records.get(ids.map(runningKey))
    return ids.filter((_id, index) => marks[index] !== this.#mark)
  }

  /** Removes the mark of a run of which nothing else is stored. */
  async unmark(id: string): Promise<void> {
    await this.#records.commit([[runningKey(id), undefined]], { absent: [rowKey(id)] })
  }

  async #listIds(prefix: string, { limit, order, after, before }: RunRange): Promise<string[]> {
    const keys = await this.#records.list({
      prefix,
      limit,
      ...(order === undefined ? {} : { order }),
      ...(after === undefined ? {} : { after: prefix + after }),
      ...(before === undefined ? {} : { before: prefix + before }),
    })
    return keys.map((key) => key.slice(prefix.length))
  }

  async #row(id: string): Promise<RunRow<Facts, Item> | undefined> {
    const [text] = await this.#records.get([rowKey(id)])
    if (text === undefined) return undefined
    const row = parseRow<RunRow<Facts, Item>>(id, text)
    return row.version === 1 ? this.#options.upgradeRow(row) : row
  }
}

function lastOf({ steps }: PackedSteps): EndStep | undefined {
  const last = steps.at(-1)
  return typeof last === 'object' && isEnd(last) ? last : undefined
}

function serverOf(mark: string | undefined): string | undefined {
  try {
    return (JSON.parse(mark ?? '') as { server?: string }).server
  } catch {
    return undefined
  }
}

function keysOfRequest({ hash, atMs }: NonNullable<RunRow<unknown, unknown>['idempotency']>): string[] {
  return atMs === undefined ? [requestKey(hash)] : requestKeys({ hash, atMs })
}

function rowKey(id: string): string {
  return RUNS + id
}

function runningKey(id: string): string {
  return RUNNING + id
}

function itemsKey(id: string, row: number): string {
  return `items:${id}:${row}`
}

function stepsLog(id: string): string {
  return `steps:${id}`
}

/** Topic of those who read a run. */
function changeTopic(id: string): string {
  return `run:${id}`
}

/** Topic of the server that runs it. */
function outcomeTopic(id: string): string {
  return `outcome:${id}`
}

function topicsOf(id: string): string[] {
  return [changeTopic(id), outcomeTopic(id)]
}

function endChanges<Facts, Item>({ row, turn }: PersistedRun<Facts, Item>, { steps, outcome }: Ending): Change[] {
  const ended = outcome ? withOutcome(turn, outcome) : withText(turn, textOf(steps))
  return [...(outcome?.approvals ?? []), turnChange(ended), rowChange({ ...row, ...packSteps(steps) })]
}

function rowChange<Facts, Item>(row: RunRow<Facts, Item>): Change {
  return [rowKey(row.id), JSON.stringify(row)]
}

function describeRow<Facts, Item>({
  id,
  facts,
  items,
  idempotency,
}: Draft<Facts, Item>): { row: PersistedRun<Facts, Item>['row']; itemRows: Change[] } {
  const request = idempotency && { idempotency: { hash: idempotency.hash, atMs: idempotency.atMs } }
  const row = { version: ROW_VERSION, id, facts, inputs: items.length, ...request }
  const isShort = items.length <= ITEMS_PER_ROW && JSON.stringify(items).length <= MAX_ITEMS_LENGTH
  if (isShort) return { row: { ...row, items }, itemRows: [] }
  const itemRows: Change[] = []
  for (let start = 0; start < items.length; start += ITEMS_PER_ROW) {
    itemRows.push([itemsKey(id, itemRows.length), JSON.stringify(items.slice(start, start + ITEMS_PER_ROW))])
  }
  return { row, itemRows }
}
