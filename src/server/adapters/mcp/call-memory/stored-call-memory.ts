import { randomUUID } from 'node:crypto'
import { parseRow, ROW_VERSION, type RowShape } from '../../../../durable/rows/parse-row.ts'
import { isObject, parseJson } from '../../../../json.ts'
import type { Message } from '../../../../protocols/message.ts'
import { fromMessageJson, type MessageJson, toMessageJson } from '../../../../run/attachment-json.ts'
import { LazyStore } from '../../../../store/lazy-store.ts'
import type { Change, Guards, RecordStore } from '../../../../store/record-store.ts'
import { parseIndexKey, tenantRecords } from '../../../../store/tenant-records.ts'
import {
  type CallMemory,
  type ConversationTitle,
  isFor,
  type KeptConversation,
  type OpenQuestion,
  type TitleRange,
  titleOf,
} from './call-memory.ts'

interface Expiring {
  readonly version: number
  /** Unix milliseconds; null for entries that do not expire. */
  readonly expiresMs: number | null
}

interface ConversationRow extends Expiring {
  readonly agentId: string
  readonly messages: readonly MessageJson[]
  /** By this name it is found when the data of a user is deleted. */
  readonly user?: string | undefined
}

interface QuestionRow extends Expiring {
  readonly session: string
  /** Answer of the client, once there is one: null for none. */
  readonly result?: unknown
}

const CONVERSATION_SHAPE = { agentId: 'string', messages: 'array' } as const
const CONVERSATION = 'mcp-conversation:'
/** Followed by the agent and the id of a conversation: lists read these alone. The value has the title, and the user. */
const TITLE = 'mcp-title:'
const QUESTION = 'mcp-question:'
/** Followed by a time and a key: the records to remove, of all tenants, the next one first. */
const EXPIRY = 'mcp-expiry:'
const DAY_MS = 24 * 60 * 60 * 1000
/** A client that has not answered by then does not answer any more. */
const WAITING_MS = 7 * DAY_MS
/** Interval at which an answer is looked for: a notice may be lost. */
const POLL_MS = 2000
const CLEAN_EVERY_MS = 60 * 60 * 1000
const PAGE = 200

export interface StoredCallMemoryOptions {
  /** Called before the first record is read or written. */
  readonly openRecords: () => Promise<RecordStore>
  /** Days after its last call after which a conversation is removed; undefined keeps all. */
  readonly retentionDays: number | undefined
}

/** Memory in the store that servers share: any of them can continue. */
export class StoredCallMemory implements CallMemory {
  readonly #options: StoredCallMemoryOptions
  readonly #tenant: string
  readonly #shared: SharedRecords

  constructor(options: StoredCallMemoryOptions, tenant = '', shared = new SharedRecords(options.openRecords)) {
    this.#options = options
    this.#tenant = tenant
    this.#shared = shared
  }

  of(tenant: string): CallMemory {
    return new StoredCallMemory(this.#options, tenant, this.#shared)
  }

  async readConversation(id: string, agentId: string, user?: string): Promise<readonly Message[] | undefined> {
    const row = await this.#read<ConversationRow>(CONVERSATION, id, CONVERSATION_SHAPE)
    return row && isFor({ agentId, user }, row) ? row.messages.map(fromMessageJson) : undefined
  }

  async listTitles(agentId: string, { after, limit, user }: TitleRange): Promise<ConversationTitle[]> {
    const prefix = titlePrefix(agentId)
    const records = await this.#open()
    // Those of one user are found among those of all.
    const pageSize = user === undefined ? limit : PAGE
    const found: ConversationTitle[] = []
    for (let last = after && prefix + after; ; ) {
      const entries = await records.entries({ prefix, limit: pageSize, after: last })
      for (const [key, text] of entries) {
        const row = readTitle(text)
        if (user === undefined || row.user === user) found.push({ id: key.slice(prefix.length), title: row.title })
      }
      if (found.length >= limit || entries.length < pageSize) return found.slice(0, limit)
      last = entries.at(-1)?.[0]
    }
  }

  async writeConversation(id: string | undefined, conversation: KeptConversation): Promise<string | undefined> {
    const { agentId, messages } = conversation
    const { retentionDays } = this.#options
    const earlier =
      id === undefined ? undefined : await this.#read<ConversationRow>(CONVERSATION, id, CONVERSATION_SHAPE)
    if (earlier && !isFor(conversation, earlier)) return this.writeConversation(undefined, conversation)
    const kept = id ?? randomUUID()
    const { user } = earlier ?? conversation
    const expiresMs = retentionDays === undefined ? null : Date.now() + retentionDays * DAY_MS
    const row: ConversationRow = {
      version: ROW_VERSION,
      expiresMs,
      agentId,
      user,
      messages: messages.map(toMessageJson),
    }
    const title = [titlePrefix(agentId) + kept, JSON.stringify({ title: titleOf(conversation), user })] as const
    // Together with the look whether it is still there: another server may forget it now.
    const guards = id === undefined ? {} : { present: [CONVERSATION + kept] }
    return (await this.#write(CONVERSATION + kept, row, earlier, [title], guards)) ? kept : undefined
  }

  /** They go with the other records of the store. */
  forgetUser(): number {
    return 0
  }

  async awaitAnswer({ id, session }: OpenQuestion, onAnswer: (result: unknown) => void): Promise<() => void> {
    const key = QUESTION + id
    const row: QuestionRow = { version: ROW_VERSION, expiresMs: Date.now() + WAITING_MS, session }
    await this.#write(key, row, undefined)
    const records = await this.#open()
    const look = async () => {
      const now = await this.#read<QuestionRow>(QUESTION, id, { session: 'string' })
      if (now && 'result' in now) onAnswer(now.result)
    }
    const lookAgain = () => void look().catch(() => {})
    const unwatch = records.watch([key], lookAgain)
    const timer = setInterval(lookAgain, POLL_MS).unref()
    return () => {
      unwatch()
      clearInterval(timer)
      // Otherwise it expires.
      records.commit([[key, undefined], ...expiryOf(key, row)]).catch(() => {})
    }
  }

  async passAnswer({ id, session }: OpenQuestion, result: unknown): Promise<void> {
    const row = await this.#read<QuestionRow>(QUESTION, id, { session: 'string' })
    if (row?.session !== session || 'result' in row) return
    const key = QUESTION + id
    await (await this.#open()).commit([[key, JSON.stringify({ ...row, result: result ?? null })]], { present: [key] }, [
      key,
    ])
  }

  close(): Promise<void> {
    return this.#shared.close()
  }

  async #read<Row extends Expiring>(prefix: string, id: string, shape: RowShape<Row>): Promise<Row | undefined> {
    // Ids are ours: anything else is no key.
    if (!UUID.test(id)) return undefined
    const [text] = await (await this.#open()).get([prefix + id])
    return text === undefined ? undefined : parseRow<Row>(id, text, shape)
  }

  async #write(
    key: string,
    row: Expiring,
    earlier: Expiring | undefined,
    more: readonly Change[] = [],
    guards: Guards = {},
  ): Promise<boolean> {
    const expiry = row.expiresMs === null ? [] : [[expiryKey(key, row.expiresMs), '1'] as const]
    const changes = [[key, JSON.stringify(row)] as const, ...more, ...expiryOf(key, earlier), ...expiry]
    return (await this.#open()).commit(changes, guards)
  }

  async #open(): Promise<RecordStore> {
    return ofTenant(await this.#shared.open(), this.#tenant)
  }
}

/** The store of all tenants: opened when it is first needed, and cleaned as long as it is open. */
class SharedRecords extends LazyStore {
  #timer: NodeJS.Timeout | undefined

  constructor(openRecords: StoredCallMemoryOptions['openRecords']) {
    super(async () => {
      const records = await openRecords()
      // A failure needs no handling: the next run, or another server, removes the same records.
      const clean = () => void removeExpired(records).catch(() => {})
      this.#timer = setInterval(clean, CLEAN_EVERY_MS).unref()
      clean()
      return records
    })
  }

  override close(): Promise<void> {
    clearInterval(this.#timer)
    return super.close()
  }
}

function ofTenant(records: RecordStore, tenant: string): RecordStore {
  return tenantRecords(records, tenant, [EXPIRY])
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function titlePrefix(agentId: string): string {
  return `${TITLE}${encodeURIComponent(agentId)}:`
}

/** A damaged title is empty: the conversation stays in the list of who has all. One that is text alone is of an earlier version. */
function readTitle(text: string): { readonly title: string; readonly user?: unknown } {
  const row = parseJson(text)
  const { title, user } = isObject(row) ? row : { title: row, user: undefined }
  return { title: typeof title === 'string' ? title : '', user }
}

function expiryKey(key: string, expiresMs: number): string {
  return `${EXPIRY}${String(expiresMs).padStart(15, '0')}:${key}`
}

/** Removes the note of when a record expires. */
function expiryOf(key: string, row: Expiring | undefined): Change[] {
  return row === undefined || row.expiresMs === null ? [] : [[expiryKey(key, row.expiresMs), undefined]]
}

/** Removes expired entries, of all tenants. */
async function removeExpired(records: RecordStore): Promise<void> {
  const before = expiryKey('', Date.now())
  for (let after: string | undefined; ; ) {
    const notes = await records.list({ prefix: EXPIRY, before, limit: PAGE, after })
    for (const note of notes) {
      const time = note.slice(0, before.length)
      const { tenant, id: key } = parseIndexKey(time, note)
      // A damaged record, or one of a newer version, holds up none of the others.
      await removeNoted(ofTenant(records, tenant), time + key, key).catch(() => {})
    }
    if (notes.length < PAGE) return
    after = notes.at(-1)
  }
}

/** A record that was used since has another note. */
async function removeNoted(records: RecordStore, note: string, key: string): Promise<void> {
  const [text] = await records.get([key])
  const row = text === undefined ? undefined : parseRow<Expiring & Partial<ConversationRow>>(key, text, {})
  const isCurrent = text !== undefined && expiryKey(key, row?.expiresMs ?? 0) === note
  const title = row?.agentId === undefined ? [] : [titlePrefix(row.agentId) + key.slice(CONVERSATION.length)]
  const removed = isCurrent ? [key, ...title].map((name): Change => [name, undefined]) : []
  await records.commit([...removed, [note, undefined]], isCurrent ? { equal: [[key, text]] } : {})
}
