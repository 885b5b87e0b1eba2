import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Message } from '../../protocols/message.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import type { PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import type { Change, RecordStore } from '../../store/record-store.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'
import { isUnreadable } from '../rows/unreadable-rows.ts'
import type { HistoryBudget } from './history-budget.ts'
import {
  bytesOfAnswer,
  bytesOfStored,
  fromStoredMessage,
  readStoredAnswers,
  readStoredMessages,
  type StoredAnswer,
  type StoredMessage,
  toStoredAnswer,
  toStoredMessage,
} from './stored-message.ts'
import { NewBytes, removeBytes, type StoredBytes, takeLarge } from './turn-bytes.ts'

/**
 * Part of a conversation that one run adds. A conversation is a tree of turns: each knows the one before it, and the
 * ids of up to {@link BLOCK} turns further back, so that a conversation is read block by block, and a turn costs the same
 * to store wherever it stands.
 */
export interface StoredTurn {
  readonly version: number
  readonly response_id: string
  readonly previous_response_id: string | null
  readonly created_at: number
  /** The turn's own messages; those of the turns before it as well when these are no longer stored. */
  readonly conversation_data: { readonly messages: readonly StoredMessage[] }
  /** Calls that the run waits for; until it has ended, those of the turn before that it answers. Omitted if there are none. */
  readonly pending?: readonly PendingCall[]
  /** Answers with which the run goes on; omitted once it has ended, and for a run that begins with a message. */
  readonly answers?: readonly StoredAnswer[]
  /** True for a turn whose messages stand for all before it: those are not read. */
  readonly startsOver?: boolean
  /** Tools that clients have added to the conversation so far; omitted if there are none. */
  readonly tools?: readonly ToolDefinition[]
  /** User that the request named; left out for none, and for a turn without a run. */
  readonly user?: string
  /** Id of the conversation that the turn was added to; left out for one that is only continued by its id. */
  readonly conversation?: string
  /** Items that a client added without a run, as they are shown; not read here. */
  readonly items?: readonly unknown[]
  /** Earlier turns of the same block, oldest first. */
  readonly block: readonly string[]
  /** The last turn of the block before, null in the first one. */
  readonly block_before: string | null
}

/** A conversation up to one of its turns. */
export interface LoadedConversation {
  readonly last: StoredTurn
  /** Oldest first; the first ones are missing where a budget was too small for them. */
  readonly turns: readonly StoredTurn[]
  readonly messages: readonly Message[]
}

export interface LoadOptions {
  readonly budget?: HistoryBudget | undefined
  /** Leaves out the oldest turns that the budget has no room for, instead of refusing the conversation. */
  readonly isTruncated?: boolean | undefined
}

const BLOCK = 32
/** Number of rows that are read at once while they may be large: each may be as large as a request. */
const FEW_ROWS = 4
/** Characters from which a turn is parsed in a turn of the event loop of its own, so that other requests are not held up. */
const LARGE = 256 * 1024
/** More conversations than end with one turn. */
const MAX_BRANCHES = 100

/** Prefix of the records of turns. */
export const TURNS = 'turn:'

export function turnKey(runId: string): string {
  return TURNS + runId
}

/** Key of the link from a turn to one that continues it. */
export function branchKey(previousId: string, runId: string): string {
  return `${branchPrefix(previousId)}${runId}`
}

function branchPrefix(runId: string): string {
  return `branch:${runId}:`
}

/** Key of the remaining messages of a turn in a conversation from which items of the turn were removed. */
export function restKey(conversation: string, turnId: string): string {
  return `rest-of-turn:${conversation}:${turnId}`
}

/**
 * Reads the conversation up to a run; undefined if it does not exist.
 *
 * @throws HostError `REQUEST_INVALID` when it is more than the budget has left
 */
export async function loadConversation(
  store: RecordStore,
  runId: string,
  { budget, isTruncated = false }: LoadOptions = {},
): Promise<LoadedConversation | undefined> {
  const turns: StoredTurn[] = []
  for await (const { turn, bytes } of readBackwards(store, runId)) {
    // The last one is needed, whatever its size.
    if (!spend(budget, turn, bytes, isTruncated) && turns.length > 0) break
    turns.push(turn)
    if (turn.startsOver) break
  }
  const [last] = turns
  return last && toConversation(store, last, turns)
}

/** Ids of the turns of a conversation up to one of them, oldest first. */
export async function listTurnIds(store: RecordStore, runId: string): Promise<string[]> {
  const blocks: string[][] = []
  for (let id: string | null = runId; id !== null; ) {
    const turn: StoredTurn | undefined = await loadTurn(store, id)
    if (!turn) break
    blocks.push([...turn.block, id])
    id = turn.block_before
  }
  return blocks.reverse().flat()
}

/** Ids of the turns that continue one, and of the conversations that end with it. */
export async function listNextTurns(store: RecordStore, runId: string): Promise<string[]> {
  const prefix = branchPrefix(runId)
  const keys = await store.list({ prefix, limit: MAX_BRANCHES })
  return keys.map((key) => key.slice(prefix.length))
}

/** Number of rows to read at once: a few, and up to a block of them while they are small. */
export class PageSize {
  #rows = FEW_ROWS

  get rows(): number {
    return this.#rows
  }

  /** @param texts that were read at once */
  note(texts: readonly (string | undefined)[]): void {
    const chars = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
    this.#rows = chars < LARGE ? Math.min(this.#rows * 2, BLOCK) : FEW_ROWS
  }
}

/** Turns up to one of them, newest first, with the lengths of their rows. */
async function* readBackwards(
  store: RecordStore,
  runId: string,
): AsyncGenerator<{ readonly turn: StoredTurn; readonly bytes: number }> {
  const size = new PageSize()
  let oldest: StoredTurn | undefined
  for (let left: readonly string[] = [runId]; left.length > 0; ) {
    const page = left.slice(0, size.rows)
    const texts = await store.get(page.map(turnKey))
    size.note(texts)
    for (const [index, id] of page.entries()) {
      const text = texts[index]
      const bytes = text?.length ?? 0
      if (bytes >= LARGE) await nextTurn()
      const turn = parseTurn(id, text)
      if (turn) yield { turn, bytes }
      oldest = turn ?? oldest
    }
    left = left.slice(page.length)
    if (left.length > 0 || !oldest) continue
    left = idsBefore(oldest)
    oldest = undefined
  }
}

/** Ids of the block before a turn, newest first. A turn within its block has the others of the block before it. */
function idsBefore({ block, block_before: before }: StoredTurn): string[] {
  return [...(before === null ? [] : [before]), ...block].reverse()
}

function spend(budget: HistoryBudget | undefined, turn: StoredTurn, bytes: number, isTruncated: boolean): boolean {
  const items = turn.conversation_data.messages.length
  // Counted as base64, which they are in the row where they are few.
  const all = bytesOf(turn).reduce((sum, { size }) => sum + Math.ceil(size / 3) * 4, bytes)
  if (isTruncated) return budget?.takeTurn(items, all) ?? true
  budget?.addTurn(items, all)
  return true
}

async function toConversation(
  store: RecordStore,
  last: StoredTurn,
  newestFirst: StoredTurn[],
): Promise<LoadedConversation> {
  const turns = newestFirst.reverse()
  // Not `push(...)`: a turn may have hundreds of thousands of messages, more than a call can have arguments.
  const messages: Message[][] = []
  for (const turn of turns) messages.push(await readMessages(store, turn))
  return { last, turns, messages: messages.flat() }
}

/** Messages of a turn that is not stored. */
export function messagesOf({ conversation_data }: StoredTurn): Message[] {
  return conversation_data.messages.map((message) => fromStoredMessage(message))
}

/** Returns the turn of a run that goes on with these answers. */
export function withAnswers(turn: StoredTurn, answers: readonly PendingAnswer[]): StoredTurn {
  return { ...turn, answers: answers.map((answer) => toStoredAnswer(answer, takeLarge(turn.response_id))) }
}

/** Reads the answers with which the run of a turn goes on; undefined for a run that begins with a message. */
export async function readAnswers(store: RecordStore, { answers }: StoredTurn): Promise<PendingAnswer[] | undefined> {
  return answers && readStoredAnswers(store, answers)
}

/** Reads the messages of a stored turn with their bytes. */
export function readMessages(store: RecordStore, { conversation_data }: StoredTurn): Promise<Message[]> {
  return readStoredMessages(store, conversation_data.messages)
}

/** Bytes of a turn that are not stored yet: they are written before it is. */
export function newBytesOf(turn: StoredTurn): NewBytes[] {
  return bytesOf(turn).filter((bytes) => bytes instanceof NewBytes)
}

function bytesOf({ conversation_data, answers = [] }: StoredTurn): StoredBytes[] {
  return [...conversation_data.messages.flatMap(bytesOfStored), ...answers.flatMap(bytesOfAnswer)]
}

export async function loadTurn(store: RecordStore, runId: string): Promise<StoredTurn | undefined> {
  const [text] = await store.get([turnKey(runId)])
  return parseTurn(runId, text)
}

/**
 * Creates a turn that continues a conversation, or begins one.
 *
 * @param pending calls of the turn before that this one answers: they stay open until it has ended well
 */
export function makeTurn(
  runId: string,
  createdAt: number,
  messages: readonly Message[],
  previous: StoredTurn | undefined,
  pending: readonly PendingCall[] = [],
): StoredTurn {
  const isFull = previous && previous.block.length + 1 >= BLOCK
  return {
    version: ROW_VERSION,
    response_id: runId,
    previous_response_id: previous?.response_id ?? null,
    created_at: createdAt,
    ...storedMessages(runId, messages),
    ...(pending.length > 0 ? { pending } : {}),
    ...(previous?.tools ? { tools: previous.tools } : {}),
    block: previous && !isFull ? [...previous.block, previous.response_id] : [],
    block_before: previous ? (isFull ? previous.response_id : previous.block_before) : null,
  }
}

/** Returns the part of a turn that holds these messages. */
export function storedMessages(runId: string, messages: readonly Message[]): Pick<StoredTurn, 'conversation_data'> {
  return {
    conversation_data: { messages: messages.map((message) => toStoredMessage(message, takeLarge(runId))) },
  }
}

/** Part that a run adds to its turn. */
export interface TurnOutcome {
  readonly messages: readonly Message[]
  readonly pending: readonly PendingCall[]
  /** Changes that open the approvals it waits for, and list a run of a program that waits for a tool. */
  readonly waiting: readonly Change[]
}

/** Returns the turn with all that its run added. */
export function withOutcome(
  { pending: _answered, answers: _given, ...turn }: StoredTurn,
  outcome: Pick<TurnOutcome, 'messages' | 'pending'>,
): StoredTurn {
  const added = outcome.messages.map((message) => toStoredMessage(message, takeLarge(turn.response_id)))
  const messages = [...turn.conversation_data.messages, ...added]
  const pending = outcome.pending.length > 0 ? { pending: outcome.pending } : {}
  return { ...turn, conversation_data: { messages }, ...pending }
}

/** The same turn for itself alone, with the messages of all that came before it. */
export function detach(turn: StoredTurn, earlier: readonly Message[]): StoredTurn {
  const before = earlier.map((message) => toStoredMessage(message, takeLarge(turn.response_id)))
  const messages = [...before, ...turn.conversation_data.messages]
  return { ...turn, previous_response_id: null, conversation_data: { messages }, block: [], block_before: null }
}

/**
 * Takes everything that was said out of a turn. It stays only as a link, where another turn continues it.
 *
 * @throws HostError `RECORD_UNREADABLE`
 */
export async function emptyTurn(store: RecordStore, runId: string): Promise<void> {
  for (;;) {
    const [text] = await store.get([turnKey(runId)])
    const turn = parseTurn(runId, text)
    const { pending: _pending, answers: _answers, items: _items, tools: _tools, user: _user, ...link } = turn ?? {}
    const emptied = turn ? [turnChange({ ...link, conversation_data: { messages: [] } } as StoredTurn)] : []
    const equal = text === undefined ? [] : [[turnKey(runId), text] as const]
    if (await store.commit([...emptied, ...(await removeBytes(store, runId))], { equal })) return
  }
}

/** Change that stores a turn, after its bytes. */
export function turnChange(turn: StoredTurn): Change {
  return [turnKey(turn.response_id), JSON.stringify(turn)]
}

/** Changes that store the link from a turn to the one before it. */
export function linkChanges({ response_id, previous_response_id }: StoredTurn): Change[] {
  return previous_response_id === null ? [] : [[branchKey(previous_response_id, response_id), '1']]
}

/** Removal of a turn from the store. */
interface TurnRemoval {
  readonly changes: readonly Change[]
  /** Prefix of the links to turns that continue it; the turn stays if there is one. */
  readonly absent: readonly string[]
  readonly previousId: string | null
}

/** Finds everything that is stored of a turn: its bytes, and its remains in a conversation from which items were removed. */
export async function findRemoval(store: RecordStore, id: string): Promise<TurnRemoval | undefined> {
  const turn: RemovedTurn | undefined = await loadTurn(store, id).catch(toUnreadableTurn)
  if (!turn) return undefined
  const { previous_response_id: previousId, conversation } = turn
  const changes: Change[] = [[turnKey(id), undefined], ...(await removeBytes(store, id))]
  if (previousId !== null) changes.push([branchKey(previousId, id), undefined])
  if (conversation !== undefined) changes.push([restKey(conversation, id), undefined])
  return { changes, absent: [branchPrefix(id)], previousId }
}

/**
 * Removes the turns, from this one backwards, whose run is deleted and which nothing continues.
 *
 * @param exists returns true if the run of an id is still stored
 */
export async function removeForgottenTurns(
  store: RecordStore,
  lastId: string | null,
  exists: (runId: string) => Promise<boolean>,
): Promise<void> {
  for (let id = lastId; id !== null; ) {
    if (await exists(id)) return
    const removal: TurnRemoval | undefined = await findRemoval(store, id)
    // It may be continued at this moment: then it stays.
    if (!removal || !(await store.commit(removal.changes, { absent: removal.absent }))) return
    id = removal.previousId
  }
}

type RemovedTurn = Pick<StoredTurn, 'previous_response_id' | 'conversation'>

/** A turn that cannot be read is removed all the same; those before it stay. */
function toUnreadableTurn(error: unknown): RemovedTurn {
  if (isUnreadable(error)) return { previous_response_id: null }
  throw error
}

function parseTurn(id: string, text: string | undefined): StoredTurn | undefined {
  return text === undefined
    ? undefined
    : parseRow<StoredTurn>(id, text, { conversation_data: 'object', block: 'array' })
}
