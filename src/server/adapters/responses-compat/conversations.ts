import { randomUUID } from 'node:crypto'
import type { Message } from '../../../protocols/message.ts'
import type { Change, RecordStore } from '../../../store/record-store.ts'

/**
 * What one response adds to its conversation. A conversation is a tree of turns: each knows the one before it, and the
 * ids of up to {@link BLOCK} turns further back, so that a conversation is read block by block, and a turn costs the same
 * to store wherever it stands.
 */
export interface Turn {
  readonly id: string
  readonly response_id: string
  readonly previous_response_id: string | null
  readonly created_at: number
  /** The turn's own messages; those of the turns before it as well when these are no longer stored. */
  readonly conversation_data: { readonly messages: readonly Message[] }
  /** Earlier turns of the same block, oldest first. */
  readonly block: readonly string[]
  /** The last turn of the block before, null in the first one. */
  readonly block_before: string | null
}

/** A conversation up to one of its turns. */
export interface Conversation {
  readonly last: Turn
  readonly messages: readonly Message[]
}

const BLOCK = 32

export function turnKey(responseId: string): string {
  return `turn:${responseId}`
}

/** There is one for every turn that continues another. */
export function branchKey(previousId: string, responseId: string): string {
  return `${branchPrefix(previousId)}${responseId}`
}

export function branchPrefix(responseId: string): string {
  return `branch:${responseId}:`
}

/** Reads the conversation that a response ends; undefined when there is none. */
export async function loadConversation(store: RecordStore, responseId: string): Promise<Conversation | undefined> {
  const last = await loadTurn(store, responseId)
  if (!last) return undefined
  const turns: Turn[] = []
  for (let turn: Turn | undefined = last; turn; ) {
    const keys: string[] = [...(turn.block_before === null ? [] : [turn.block_before]), ...turn.block].map(turnKey)
    const earlier = (await store.get(keys)).flatMap((text) => parseTurn(text) ?? [])
    const isNext: boolean = earlier[0]?.response_id === turn.block_before
    turns.push(turn, ...earlier.slice(isNext ? 1 : 0).reverse())
    turn = isNext ? earlier[0] : undefined
  }
  return { last, messages: turns.reverse().flatMap(({ conversation_data }) => conversation_data.messages) }
}

export async function loadTurn(store: RecordStore, responseId: string): Promise<Turn | undefined> {
  const [text] = await store.get([turnKey(responseId)])
  return parseTurn(text)
}

/** A turn that continues a conversation, or begins one. */
export function makeTurn(
  responseId: string,
  createdAt: number,
  messages: readonly Message[],
  previous: Turn | undefined,
): Turn {
  const isFull = previous && previous.block.length + 1 >= BLOCK
  return {
    id: `conv_${randomUUID()}`,
    response_id: responseId,
    previous_response_id: previous?.response_id ?? null,
    created_at: createdAt,
    conversation_data: { messages },
    block: previous && !isFull ? [...previous.block, previous.response_id] : [],
    block_before: previous ? (isFull ? previous.response_id : previous.block_before) : null,
  }
}

/** The turn with the answer of the agent, which may have said nothing. */
export function withAnswer(turn: Turn, text: string): Turn {
  if (text === '') return turn
  const messages = [...turn.conversation_data.messages, { role: 'assistant' as const, content: text }]
  return { ...turn, conversation_data: { messages } }
}

/** The same turn for itself alone, with the messages of all that came before it. */
export function detach(turn: Turn, earlier: readonly Message[]): Turn {
  const messages = [...earlier, ...turn.conversation_data.messages]
  return { ...turn, previous_response_id: null, conversation_data: { messages }, block: [], block_before: null }
}

/** What stores the link from a turn to the one before it. */
export function linkChanges({ response_id, previous_response_id }: Turn): Change[] {
  return previous_response_id === null ? [] : [[branchKey(previous_response_id, response_id), '1']]
}

/**
 * Removes the turns, from this one backwards, that belong to no response any more: theirs is deleted, and nothing continues
 * them.
 *
 * @param exists whether there still is a response of that id
 */
export async function removeForgottenTurns(
  store: RecordStore,
  responseId: string,
  exists: (responseId: string) => Promise<boolean>,
): Promise<void> {
  for (let id: string | null = responseId; id !== null; ) {
    if (await exists(id)) return
    const turn = await loadTurn(store, id)
    if (!turn) return
    const previous: string | null = turn.previous_response_id
    const removal: Change[] = [[turnKey(id), undefined]]
    if (previous !== null) removal.push([branchKey(previous, id), undefined])
    // Somebody may continue it at this moment: then it stays.
    if (!(await store.commit(removal, { absent: [branchPrefix(id)] }))) return
    id = previous
  }
}

function parseTurn(text: string | undefined): Turn | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Turn)
}
