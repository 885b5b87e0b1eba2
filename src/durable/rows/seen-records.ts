import type { Sees } from '../../host/visits.ts'
import { type Fields, fieldsOf, parseJson } from '../../json.ts'
import type { AscendingRange, Change, Entry, Guards, KeyRange, RecordStore } from '../../store/record-store.ts'
import { APPROVALS, OPEN } from '../approvals/approvals.ts'
import { CONVERSATIONS } from '../conversations/conversation-store.ts'
import { listTurnIds, PageSize, TURNS } from '../conversations/conversation-tree.ts'
import { isNamedId } from '../conversations/named-conversation.ts'
import { RUNS, rowKey } from '../runs/run-keys.ts'
import { DELIVERIES, runOfDelivery } from '../webhooks/delivery-rows.ts'

/** Prefixes of the records of which some do not exist for the visitor. */
const HIDDEN = [RUNS, APPROVALS, OPEN, CONVERSATIONS, TURNS, DELIVERIES]

/**
 * The records of a tenant as a visitor sees them for whom some agents do not exist: neither do their runs, approvals and deliveries, nor conversations in which
 * one of them has spoken, or that another key has made and in which none has. Records of unknown agents are hidden. Writes pass.
 */
export class SeenRecords implements RecordStore {
  readonly serverId: string
  readonly #records: RecordStore
  readonly #sees: Sees

  /** @param records of the tenant */
  constructor(records: RecordStore, sees: Sees) {
    this.serverId = records.serverId
    this.#records = records
    this.#sees = sees
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    const texts = await this.#records.get(keys)
    return Promise.all(
      keys.map(async (key, index) => {
        const text = texts[index]
        return text !== undefined && (await this.#isSeen(key, text)) ? text : undefined
      }),
    )
  }

  async list(range: KeyRange): Promise<string[]> {
    if (!HIDDEN.some((prefix) => range.prefix.startsWith(prefix))) return this.#records.list(range)
    return (await this.entries(range)).map(([key]) => key)
  }

  /** Reads on until the page is full: a shorter one is the last. */
  async entries(range: KeyRange): Promise<Entry[]> {
    const found: Entry[] = []
    for (let rest = range; ; ) {
      const entries = await this.#records.entries(rest)
      const seen = await Promise.all(entries.map(([key, text]) => this.#isSeen(key, text)))
      found.push(...entries.filter((_, index) => seen[index]))
      const last = entries.at(-1)
      if (found.length >= range.limit || entries.length < range.limit || !last) return found.slice(0, range.limit)
      rest = { ...range, [range.order === 'desc' ? 'before' : 'after']: last[0] }
    }
  }

  entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    return Promise.all(ranges.map((range) => this.entries(range)))
  }

  commit(changes: readonly Change[], guards?: Guards, notify?: readonly string[]): Promise<boolean> {
    return this.#records.commit(changes, guards, notify)
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#records.watch(topics, onNotice)
  }

  isServerAlive(serverId: string): Promise<boolean> {
    return this.#records.isServerAlive(serverId)
  }

  now(): Promise<number> {
    return this.#records.now()
  }

  purge(): Promise<void> {
    return this.#records.purge()
  }

  close(): Promise<void> {
    return this.#records.close()
  }

  async #isSeen(key: string, text: string): Promise<boolean> {
    const prefix = HIDDEN.find((prefix) => key.startsWith(prefix))
    if (prefix === undefined) return true
    const fields = fieldsOf(parseJson(text))
    if (prefix === RUNS) return this.#seesAgent(fieldsOf(fields.facts).agent)
    if (prefix === DELIVERIES) return this.#exists(rowKey(runOfDelivery(key)))
    if (prefix === APPROVALS) return this.#seesAgent(fields.agent)
    if (prefix === CONVERSATIONS) return this.#seesConversation(key.slice(CONVERSATIONS.length), fields)
    if (prefix === TURNS) return this.#seesTurn(fields)
    return this.#exists(APPROVALS + key.slice(OPEN.length))
  }

  #seesAgent(agent: unknown): boolean {
    return typeof agent === 'string' && this.#sees(agent)
  }

  /** A turn of a run is part of the history of those who may see one that continues it; items that were added belong to their conversation. */
  async #seesTurn({ items, conversation }: Fields): Promise<boolean> {
    return items === undefined || typeof conversation !== 'string' || this.#exists(CONVERSATIONS + conversation)
  }

  async #exists(key: string): Promise<boolean> {
    return (await this.get([key]))[0] !== undefined
  }

  async #seesConversation(id: string, { head, key, metadata }: Fields): Promise<boolean> {
    const ids = typeof head === 'string' ? await listTurnIds(this.#records, head) : []
    const size = new PageSize()
    let hasAgents = false
    for (let left = ids; left.length > 0; ) {
      const page = left.slice(0, size.rows)
      const rows = await this.#seenRunsOf(page)
      if (!rows) return false
      size.note(rows)
      hasAgents ||= rows.length > 0
      left = left.slice(page.length)
    }
    if (hasAgents) return true
    if (!isNamedId(id)) return key !== undefined && key === this.#sees.key
    // It has nothing yet. All who know its name may go on in it, but for one that is of a schedule of another agent.
    const { agent } = fieldsOf(metadata)
    return agent === undefined || this.#seesAgent(agent)
  }

  /** Rows of the runs of these turns; undefined if the visitor may not see one of them. The agent of a deleted run is unknown. */
  async #seenRunsOf(turnIds: readonly string[]): Promise<string[] | undefined> {
    const rows = await this.#records.get(turnIds.map(rowKey))
    const others = await this.#records.get(
      turnIds.flatMap((turn, index) => (rows[index] === undefined ? [TURNS + turn] : [])),
    )
    const runs = rows.filter((row) => row !== undefined)
    return runs.every((row) => this.#seesAgent(agentOf(row))) && others.every(isAdded) ? runs : undefined
  }
}

/** Agent of the row of a run. */
function agentOf(row: string): unknown {
  return fieldsOf(fieldsOf(parseJson(row)).facts).agent
}

/** Tells whether a client has added a turn without a run. */
function isAdded(turn: string | undefined): boolean {
  return turn !== undefined && fieldsOf(parseJson(turn)).items !== undefined
}
