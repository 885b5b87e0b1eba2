import { HostError } from '../../errors.ts'
import { nowSeconds } from '../../now-seconds.ts'
import type { Message } from '../../protocols/message.ts'
import { fromMessageJson, type MessageJson, toMessageJson } from '../../run/attachment-json.ts'
import type { Change, Entry, RecordStore } from '../../store/record-store.ts'
import type { Claim } from '../decisions/claim.ts'
import { untilClaimed } from '../decisions/until-claimed.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'
import { ignoreUnreadable, type UnreadableRows } from '../rows/unreadable-rows.ts'
import { RunIds } from '../runs/run-ids.ts'
import {
  branchKey,
  linkChanges,
  listTurnIds,
  loadTurn,
  newBytesOf,
  PageSize,
  removeForgottenTurns,
  restKey,
  type StoredTurn,
  turnChange,
} from './conversation-tree.ts'
import { writeBytes } from './turn-bytes.ts'

/**
 * Conversation with an id for clients: a pointer to the last turn of a line in the tree of turns. The next turn continues that one
 * and moves the pointer.
 */
export interface ConversationRecord {
  readonly version: number
  readonly id: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds of the last turn. */
  readonly usedAt: number
  readonly metadata: Readonly<Record<string, string>>
  /** Id of the last turn; null for a new conversation. */
  readonly head: string | null
  /** Name of the key that has made it; left out for none. */
  readonly key?: string | undefined
}

/** Prefix of the records of conversations. */
export const CONVERSATIONS = 'conversation:'
/** Items that a client removed from a conversation; the turns stay as they are for others that continue them. */
const REMOVED = 'removed-item:'
/** More than any conversation has. */
const MAX_ITEMS = 1_000_000
/** Number of attempts at a change that others may prevent by being quicker. */
const MAX_ATTEMPTS = 10

/** Stored conversations. Each change is based on the previous one, or fails. */
export class ConversationStore {
  readonly #records: RecordStore
  readonly #ids = new RunIds('conv_')

  constructor(records: RecordStore) {
    this.#records = records
  }

  /**
   * @param first turn without a run that the conversation begins with
   * @param key name of the key that makes it
   */
  async create(
    metadata: ConversationRecord['metadata'],
    first?: StoredTurn,
    key?: string,
  ): Promise<ConversationRecord> {
    const now = nowSeconds()
    const row = { version: ROW_VERSION, id: this.#ids.next(), createdAt: now, usedAt: now, metadata, head: null, key }
    const changes = first
      ? [turnChange({ ...first, conversation: row.id }), ...claimConversation(row, first.response_id).changes]
      : [[keyOf(row.id), JSON.stringify(row)] as const]
    if (first) await writeBytes(this.#records, newBytesOf(first))
    await this.#records.commit(changes)
    return row
  }

  /** Returns the conversation of an id that its names give, and creates it where there is none. */
  async findOrCreate(id: string, metadata: ConversationRecord['metadata']): Promise<ConversationRecord> {
    const found = await this.find(id)
    if (found) return found
    const now = nowSeconds()
    const row = { version: ROW_VERSION, id, createdAt: now, usedAt: now, metadata, head: null }
    const isNew = await this.#records.commit([[keyOf(id), JSON.stringify(row)]], { absent: [keyOf(id)] })
    return isNew ? row : this.get(id)
  }

  /** @throws HostError `CONVERSATION_NOT_FOUND` */
  async get(id: string): Promise<ConversationRecord> {
    const row = await this.find(id)
    if (!row) throw new HostError('CONVERSATION_NOT_FOUND', 'Conversation not found')
    return row
  }

  /** @throws HostError `CONVERSATION_NOT_FOUND` */
  async update(id: string, metadata: ConversationRecord['metadata']): Promise<ConversationRecord> {
    return untilClaimed(async () => {
      const row = await this.get(id)
      const updated = { ...row, metadata }
      return (await this.#replace(row, updated)) ? updated : undefined
    })
  }

  /**
   * Deletes a conversation, one that cannot be read too. Its responses stay, each with its history.
   *
   * @param exists returns true if the run of an id is still stored
   * @throws HostError `CONVERSATION_NOT_FOUND`
   */
  async delete(id: string, exists: (runId: string) => Promise<boolean>): Promise<void> {
    const { row } = await untilClaimed(async () => {
      const row = await this.get(id).catch(ignoreUnreadable)
      const isGone = row ? await this.#replace(row, undefined) : await this.#records.commit([[keyOf(id), undefined]])
      return isGone ? { row } : undefined
    })
    for (const prefix of [removedPrefix(id), restKey(id, '')]) {
      const keys = await this.#records.list({ prefix, limit: MAX_ITEMS })
      await this.#records.commit(keys.map((key): Change => [key, undefined]))
    }
    if (row) await removeForgottenTurns(this.#records, row.head, exists)
  }

  /**
   * Adds a turn without a run.
   *
   * @returns false when another was quicker
   */
  async append(row: ConversationRecord, turn: StoredTurn): Promise<boolean> {
    await writeBytes(this.#records, newBytesOf(turn))
    const { changes, equal } = claimConversation(row, turn.response_id)
    return this.#records.commit([turnChange(turn), ...linkChanges(turn), ...changes], { equal })
  }

  /** Takes a run that is to be deleted out of its conversation, where it is the last turn of one that can be read. */
  async release(runId: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const claim = await this.#release(runId).catch(ignoreUnreadable)
      if (!claim || (await this.#records.commit(claim.changes, { equal: claim.equal }))) return
    }
  }

  async #release(runId: string): Promise<Claim | undefined> {
    const turn = await this.turn(runId)
    return turn && this.giveBack(turn)
  }

  /** Inverse of {@link claimConversation}: undefined where the turn is not the last one of a conversation. */
  async giveBack(turn: StoredTurn): Promise<Claim | undefined> {
    const row = await this.find(turn.conversation)
    return row?.head === turn.response_id ? move(row, { ...row, head: turn.previous_response_id }) : undefined
  }

  /** Turn by its id, of a run or of items that were added without one. */
  turn(id: string): Promise<StoredTurn | undefined> {
    return loadTurn(this.#records, id)
  }

  /** Ids of its turns, oldest first. */
  async turnIds({ head }: ConversationRecord): Promise<string[]> {
    return head === null ? [] : listTurnIds(this.#records, head)
  }

  /** Ids of the items that were removed from it. */
  async removedItems(id: string): Promise<ReadonlySet<string>> {
    const keys = await this.#records.list({ prefix: removedPrefix(id), limit: MAX_ITEMS })
    return new Set(keys.map((key) => key.slice(removedPrefix(id).length)))
  }

  /**
   * Removes an item from a conversation; the turn stays as it is for others that continue it.
   *
   * @param turnId of the item
   * @param makeRest returns the messages that are left of the turn without these items
   */
  async removeItem(
    id: string,
    itemId: string,
    turnId: string,
    makeRest: (removed: ReadonlySet<string>) => Promise<readonly Message[]>,
  ): Promise<void> {
    const key = restKey(id, turnId)
    await untilClaimed(async () => {
      const [before] = await this.#records.get([key])
      const rest = await makeRest(new Set([...(await this.removedItems(id)), itemId]))
      const changes: Change[] = [
        [removedPrefix(id) + itemId, '1'],
        [key, JSON.stringify(rest.map(toMessageJson))],
      ]
      const seen = before === undefined ? { absent: [key] } : { equal: [[key, before] as const] }
      // `get` throws where the conversation is gone; otherwise another was quicker: look again.
      return (await this.#records.commit(changes, { present: [keyOf(id)], ...seen })) || void (await this.get(id))
    })
  }

  /**
   * Remaining messages of those turns that have removed items, by the ids of the turns.
   *
   * @param turnIds of the turns to read; a conversation may have far more
   */
  async rests(id: string, turnIds: readonly string[]): Promise<ReadonlyMap<string, readonly Message[]>> {
    const keys = new Set(await this.#records.list({ prefix: restKey(id, ''), limit: MAX_ITEMS }))
    const rests = new Map<string, readonly Message[]>()
    const size = new PageSize()
    for (let left = turnIds.filter((each) => keys.has(restKey(id, each))); left.length > 0; ) {
      const page = left.slice(0, size.rows)
      const texts = await this.#records.get(page.map((turnId) => restKey(id, turnId)))
      size.note(texts)
      for (const [index, text] of texts.entries())
        if (text !== undefined) rests.set(page[index] ?? '', (JSON.parse(text) as MessageJson[]).map(fromMessageJson))
      left = left.slice(page.length)
    }
    return rests
  }

  /** Removes what is left of a turn with removed items. */
  async removeRest(id: string, turnId: string): Promise<void> {
    await this.#records.commit([[restKey(id, turnId), undefined]])
  }

  /** Tells whether a run belongs to a conversation that was used at this time (Unix seconds) or later. */
  async isInUse(runId: string, since: number): Promise<boolean> {
    const row = await this.find((await this.turn(runId))?.conversation)
    return row !== undefined && row.usedAt >= since
  }

  /**
   * Ids of a page of conversations that were created before a time and not used since, oldest first.
   *
   * @param unreadable takes those that are left out
   */
  async listUnused(
    beforeMs: number,
    after: string | undefined,
    limit: number,
    unreadable: UnreadableRows,
  ): Promise<{ ids: string[]; next?: string }> {
    const entries = await this.#records.entries({
      prefix: CONVERSATIONS,
      before: keyOf(this.#ids.firstAt(beforeMs)),
      limit,
      after: after && keyOf(after),
    })
    const all = entries.map(([key, text]) => ({ id: key.slice(CONVERSATIONS.length), text }))
    const rows = await Promise.all(all.map(({ id, text }) => unreadable.read(() => parseConversation(id, text))))
    const ids = rows.flatMap((row) => (row && row.usedAt * 1000 < beforeMs ? [row.id] : []))
    const last = all.length < limit ? undefined : all.at(-1)?.id
    return { ids, next: last }
  }

  /** @param id undefined for a turn without a conversation: it has none */
  async find(id = ''): Promise<ConversationRecord | undefined> {
    const [text] = this.#ids.isId(id) ? await this.#records.get([keyOf(id)]) : []
    return text === undefined ? undefined : parseConversation(id, text)
  }

  #replace(row: ConversationRecord, changed: ConversationRecord | undefined): Promise<boolean> {
    const { changes, equal } = move(row, changed)
    return this.#records.commit(changes, { equal })
  }
}

/** Changes and conditions under which a turn becomes the last one: only while the conversation is as it was read. */
export function claimConversation(row: ConversationRecord, turnId: string): Claim {
  return move(row, { ...row, head: turnId, usedAt: nowSeconds() })
}

/** A turn that a conversation ends with is kept by a link, as one that another turn continues. */
function move(row: ConversationRecord, changed: ConversationRecord | undefined): Claim {
  const key = keyOf(row.id)
  const equal: Entry[] = [[key, JSON.stringify(row)]]
  const links: Change[] = []
  if (row.head !== null && row.head !== changed?.head) links.push([branchKey(row.head, row.id), undefined])
  if (changed && changed.head !== null) links.push([branchKey(changed.head, row.id), '1'])
  return { changes: [...links, [key, changed && JSON.stringify(changed)]], equal }
}

function parseConversation(id: string, text: string): ConversationRecord {
  const shape = { id: 'string', createdAt: 'number', usedAt: 'number', metadata: 'object' } as const
  return parseRow<ConversationRecord>(id, text, shape)
}

function keyOf(id: string): string {
  return CONVERSATIONS + id
}

function removedPrefix(id: string): string {
  return `${REMOVED}${id}:`
}
