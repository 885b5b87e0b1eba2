import { spendLength } from '../../json.ts'
import type { Message } from '../../protocols/message.ts'
import type { Change } from '../../store/record-store.ts'
import {
  newBytesOf,
  type StoredTurn,
  type TurnOutcome,
  turnChange,
  withOutcome,
} from '../conversations/conversation-tree.ts'
import { liftItems } from '../conversations/item-bytes.ts'
import type { NewBytes } from '../conversations/turn-bytes.ts'
import type { Claim } from '../decisions/claim.ts'
import { hasActed, type TakenDecisions } from '../decisions/resumption.ts'
import type { IdempotentRequest } from '../idempotency/idempotent-requests.ts'
import { parseRow, ROW_VERSION } from '../rows/parse-row.ts'
import { readTrail } from './read-trail.ts'
import type { RunFacts } from './run-facts.ts'
import { itemsKey, rowKey } from './run-keys.ts'
import { type EndStep, isEnd, type PackedSteps, packSteps, type Step } from './steps.ts'

/** Row of a run. The run is there when this row is: everything else is written before it, or with it. */
export interface RunRow extends PackedSteps {
  readonly version: number
  readonly id: string
  readonly facts: RunFacts
  /** Number of its input items. */
  readonly inputs: number
  /** Input items when they are few and short; others have rows of their own. */
  readonly items?: readonly unknown[]
  /** Request that the run answers. */
  readonly idempotency?: Pick<IdempotentRequest, 'hash' | 'atMs'>
  /** Decisions that it took: it gives them back when it fails before a call may have begun. */
  readonly resumes?: TakenDecisions
}

/** Run that is about to be stored. */
export interface Draft {
  readonly id: string
  readonly facts: RunFacts
  readonly items: readonly unknown[]
  /** Makes what the run adds to its conversation: nobody asks for that of a run which is not kept. */
  readonly makeTurn: () => StoredTurn
  /** Messages before this turn. */
  readonly earlier: readonly Message[]
  readonly idempotency: IdempotentRequest | undefined
  /** Decisions with which the run goes on, or the conversation that it is added to: it is created only where no other was quicker. */
  readonly claim?: Claim | undefined
  /** Decisions that are part of the claim. */
  readonly resumes?: TakenDecisions | undefined
}

/** Parts of a stored run that stay the same while its owner runs it. */
export interface PersistedRun {
  readonly row: Omit<RunRow, keyof PackedSteps>
  readonly turn: StoredTurn
}

/** Run to be ended. A turn that is damaged is left out, and stays as it is. */
export interface EndingRun extends Pick<PersistedRun, 'row'> {
  readonly turn: StoredTurn | undefined
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

const ITEMS_PER_ROW = 50
/** Items longer than this in total are stored outside the row of the run. */
const MAX_ITEMS_LENGTH = 4096

/** Run that is created, as its rows. */
export interface NewRows {
  readonly row: PersistedRun['row']
  /** Changes that store its input items where the row does not hold them. */
  readonly itemRows: readonly Change[]
  /** Bytes of its turn and its input items: they are written first. */
  readonly bytes: readonly NewBytes[]
}

export function toRows({ id, facts, items: given, idempotency, resumes }: Draft, turn: StoredTurn): NewRows {
  const { items, bytes } = liftItems(id, given, newBytesOf(turn))
  const request = idempotency && { idempotency: { hash: idempotency.hash, atMs: idempotency.atMs } }
  const more = { ...request, ...(resumes ? { resumes } : {}) }
  const row = { version: ROW_VERSION, id, facts, inputs: items.length, ...more }
  // References are resolved in rows of items alone.
  if (items === given && areShort(items)) return { row: { items, ...row }, itemRows: [], bytes }
  const itemRows: Change[] = []
  for (let start = 0; start < items.length; start += ITEMS_PER_ROW) {
    itemRows.push([itemsKey(id, itemRows.length), JSON.stringify(items.slice(start, start + ITEMS_PER_ROW))])
  }
  return { row, itemRows, bytes }
}

function areShort(items: readonly unknown[]): boolean {
  return items.length <= ITEMS_PER_ROW && spendLength(items, MAX_ITEMS_LENGTH) >= 0
}

/** Changes that store a run which has not ended. */
export function beginChanges({ row, turn }: PersistedRun): Change[] {
  return [turnChange(turn), rowChange({ ...row, text: '', steps: [] })]
}

/** Returns the turn of a run that ends. */
export function endTurn(turn: StoredTurn, { steps, outcome }: Ending): StoredTurn {
  if (outcome) return withOutcome(turn, outcome)
  // Behind open calls nothing may stand: they stay open unless one may have begun.
  if (turn.pending && !hasActed(steps)) return turn
  return withOutcome(turn, { messages: readTrail(steps, turn.pending), pending: [] })
}

/** Changes that store a run which has ended, with the turn that {@link endTurn} returns. */
export function endChanges({ row, turn }: EndingRun, { steps, outcome }: Ending): Change[] {
  const { text, steps: packed } = packSteps(steps)
  // Spread last: in Node 20, adding properties after a spread takes microseconds.
  const around = turn ? [...(outcome?.waiting ?? []), turnChange(turn)] : (outcome?.waiting ?? [])
  return [...around, rowChange({ text, steps: packed, ...row })]
}

export function rowChange(row: RunRow): Change {
  return [rowKey(row.id), JSON.stringify(row)]
}

/** The end in the row of a run; undefined while it runs. */
export function endOf({ steps }: PackedSteps): EndStep | undefined {
  const last = steps.at(-1)
  return typeof last === 'object' && isEnd(last) ? last : undefined
}

/** Keys of the rows that hold the input items from one index (inclusive) to another (exclusive), and the index of the first in them. */
export function locateItems(id: string, from: number, to: number): { keys: string[]; firstIndex: number } {
  const first = Math.floor(from / ITEMS_PER_ROW)
  const count = Math.max(Math.ceil(to / ITEMS_PER_ROW) - first, 0)
  const keys = Array.from({ length: count }, (_, index) => itemsKey(id, first + index))
  return { keys, firstIndex: first * ITEMS_PER_ROW }
}

/** @throws HostError `RECORD_UNREADABLE` */
export function parseRunRow(id: string, text: string): RunRow {
  return parseRow<RunRow>(id, text, { steps: 'array', inputs: 'number', facts: 'object' })
}
